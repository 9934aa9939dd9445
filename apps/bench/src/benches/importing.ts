import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { from as copyFrom } from 'pg-copy-streams'
import { copyLinesOf, importPeople } from '../address-book.ts'
import { bareWorkspace } from '../baseline.ts'
import { type Bench, takeTurns, timed } from '../figures.ts'
import { type Installation, onInstallation } from '../installation.ts'
import { end, memoryOf } from '../processes.ts'

export const importing: Bench = {
  about: 'An import of a million rows beside a bare COPY of the same rows into a table with the same indexes',
  measure: (options) =>
    onInstallation(async (installation) => {
      const { client } = installation
      await installation.startRedis()
      const api = await installation.startApi()
      const people = options.quick ? 5_000 : 1_000_000
      const peaks: number[] = []

      async function importAll(): Promise<number> {
        await client.query('truncate contacts, events cascade')
        await client.query('checkpoint')
        const { key } = await installation.createWorkspace()
        // One of its own each time, so that its peak is of this import.
        const worker = await installation.startWorker()
        const ms = await timed(() => importPeople(api, key, people))
        peaks.push(await memoryOf(worker))
        await end(worker)
        return ms / 1000
      }
      const times = await takeTurns(
        options,
        { import: importAll, copy: () => copyBare(installation, people) },
        { warmUp: false },
      )
      return [
        {
          name: `import of ${people.toLocaleString('en')} rows, upload included`,
          unit: 's',
          values: times.import,
          beside: { name: 'bare COPY', values: times.copy },
          target: { atMost: 8 },
        },
        { name: "worker's peak memory", unit: 'MB', values: peaks, target: { atMost: 250 } },
        { name: "API's peak memory", unit: 'MB', values: [await memoryOf(api.child)], target: { atMost: 250 } },
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
      Readable.from(copyLinesOf(people, bareWorkspace)),
      client.query(copyFrom(`copy bare_contacts (${columns}) from stdin`)),
    ),
  )
  return ms / 1000
}
