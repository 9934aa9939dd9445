import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { get, type IncomingMessage } from 'node:http'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { to as copyTo } from 'pg-copy-streams'
import { type Bench, measureRounds, timed } from '../measurements.ts'
import { withInstallation, type Server } from '../installation.ts'
import { insertContacts } from '../contacts.ts'
import { readMemoryMb } from '../processes.ts'

export const exporting: Bench = {
  about:
    'The export of a million contacts, and p99 of other requests meanwhile; baseline: a bare COPY of the same rows',
  measure: (options) =>
    withInstallation(async (installation) => {
      await installation.startRedis()
      const workspace = await installation.createWorkspace()
      const people = options.quick ? 20_000 : 1_000_000
      options.log(`inserting ${people.toLocaleString('en')} contacts`)
      await insertContacts(installation, workspace, people)
      await installation.client.query('vacuum analyze')
      const [api, generator] = [await installation.startApi(), installation.startLoadGenerator()]
      const requests = [{ method: 'GET' as const, path: '/auth/me' }]
      const load = { urls: [api.url], requests, key: workspace.key, perSecond: 50 }
      const copy = `copy (select * from contacts where workspace_id = '${uuidOf(workspace.ctx.workspaceId)}') to stdout csv`
      const busy: Record<string, number[]> = { csv: [], ndjson: [] }

      const download = (format: string) => async () => {
        const running = generator.start(load)
        const ms = await timed(() => exportAll(api, workspace.key, format))
        busy[format]?.push((await running.stop()).p99)
        return ms
      }
      const times = await measureRounds(options, {
        csv: download('csv'),
        ndjson: download('ndjson'),
        copy: () => timed(() => pipeline(installation.client.query(copyTo(copy)), devNull())),
        quiet: async () => (await generator.run(load, options.quick ? 500 : 4_000)).p99,
      })
      const formats = (['csv', 'ndjson'] as const).flatMap((format) => [
        {
          name: `export of ${people.toLocaleString('en')} contacts as ${format}`,
          unit: 'ms',
          values: times[format],
          baseline: { name: 'bare COPY', values: times.copy },
        },
        {
          name: `other requests during the export as ${format}, p99`,
          unit: 'ms',
          values: busy[format]?.slice(1) ?? [],
          baseline: { name: 'without an export', values: times.quiet },
          target: { atMost: 4 },
        },
      ])
      return [
        ...formats,
        { name: "API's peak memory", unit: 'MB', values: [await readMemoryMb(api.child)], target: { atMost: 250 } },
      ]
    }),
}

/** Uses node:http, as the streams of fetch need more processor time. */
async function exportAll({ url }: Server, key: string, format: string): Promise<void> {
  const response = await new Promise<IncomingMessage>((resolve, reject) =>
    get(`${url}/contacts/export?format=${format}`, { headers: { authorization: `Bearer ${key}` } }, resolve).once(
      'error',
      reject,
    ),
  )
  if (response.statusCode !== 200) throw new Error(`The export returned ${response.statusCode}`)
  await pipeline(response, devNull())
}

const devNull = () => new Writable({ write: (_chunk, _encoding, done) => done() })
