import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { from as copyFrom } from 'pg-copy-streams'
import { toCopyLines, importContacts } from '../import-file.ts'
import { bareWorkspace } from '../baseline.ts'
import { type Bench, measureRounds, timed } from '../measurements.ts'
import { type Installation, withInstallation } from '../installation.ts'
import { stopProcess, readMemoryMb } from '../processes.ts'

export const importing: Bench = {
  about: 'An import of a million rows; baseline: a bare COPY of the same rows into a table with the same indexes',
  measure: (options) =>
    withInstallation(async (installation) => {
      const { client } = installation
      await installation.startRedis()
      const api = await installation.startApi()
      const people = options.quick ? 5_000 : 1_000_000
      const peaks: number[] = []

      async function importAll(): Promise<number> {
        await client.query('truncate contacts, events cascade')
        await client.query('checkpoint')
        const { key } = await installation.createWorkspace()
        // A new worker for each round, so that its peak memory is that of one import.
        const worker = await installation.startWorker()
        const ms = await timed(() => importContacts(api, key, { count: people }))
        peaks.push(await readMemoryMb(worker))
        await stopProcess(worker)
        return ms / 1000
      }
      const times = await measureRounds(
        options,
        { import: importAll, copy: () => copyBare(installation, people) },
        { warmUp: false },
      )
      return [
        {
          name: `import of ${people.toLocaleString('en')} rows, upload included`,
          unit: 's',
          values: times.import,
          baseline: { name: 'bare COPY', values: times.copy },
          target: { atMost: 8 },
        },
        { name: "worker's peak memory", unit: 'MB', values: peaks, target: { atMost: 250 } },
        { name: "API's peak memory", unit: 'MB', values: [await readMemoryMb(api.child)], target: { atMost: 250 } },
      ]
    }),
}

async function copyBare({ client }: Installation, people: number): Promise<number> {
  await client.query('drop table if exists bare_contacts')
  await client.query('create table bare_contacts (like contacts including all)')
  await client.query('checkpoint')
  const columns = 'workspace_id, id, email, first_name, last_name, phone, company, tags, source, custom_field_values'
  const ms = await timed(() =>
    pipeline(
      Readable.from(toCopyLines(people, bareWorkspace)),
      client.query(copyFrom(`copy bare_contacts (${columns}) from stdin`)),
    ),
  )
  return ms / 1000
}
