import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { get, type IncomingMessage } from 'node:http'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { to as copyTo } from 'pg-copy-streams'
import { type Bench, takeTurns, timed } from '../figures.ts'
import { onInstallation, type Server } from '../installation.ts'
import { fillContacts } from '../people.ts'
import { memoryOf } from '../processes.ts'

export const exporting: Bench = {
  about: 'The export beside a bare COPY of the same rows, and how other requests fare meanwhile',
  measure: (options) =>
    onInstallation(async (installation) => {
      await installation.startRedis()
      const workspace = await installation.createWorkspace()
      const people = options.quick ? 20_000 : 1_000_000
      options.say(`filling in ${people.toLocaleString('en')} contacts`)
      await fillContacts(installation, workspace, people)
      await installation.client.query('vacuum analyze')
      const [api, generator] = [await installation.startApi(), installation.startLoadGenerator()]
      const asks = [{ method: 'GET' as const, path: '/auth/me' }]
      const others = { urls: [api.url], asks, key: workspace.key, perSecond: 50 }
      const copy = `copy (select * from contacts where workspace_id = '${uuidOf(workspace.ctx.workspaceId)}') to stdout csv`
      const busy: Record<string, number[]> = { csv: [], ndjson: [] }

      const download = (format: string) => async () => {
        const running = generator.start(others)
        const ms = await timed(() => exportAll(api, workspace.key, format))
        busy[format]?.push((await running.stop()).p99)
        return ms
      }
      const times = await takeTurns(options, {
        csv: download('csv'),
        ndjson: download('ndjson'),
        copy: () => timed(() => pipeline(installation.client.query(copyTo(copy)), devNull())),
        quiet: async () => (await generator.run(others, options.quick ? 500 : 4_000)).p99,
      })
      const formats = (['csv', 'ndjson'] as const).flatMap((format) => [
        {
          name: `export of ${people.toLocaleString('en')} contacts as ${format}`,
          unit: 'ms',
          values: times[format],
          beside: { name: 'bare COPY', values: times.copy },
        },
        {
          name: `other requests during the export as ${format}, p99`,
          unit: 'ms',
          values: busy[format]?.slice(1) ?? [],
          beside: { name: 'quiet', values: times.quiet },
          target: { atMost: 4 },
        },
      ])
      return [
        ...formats,
        { name: "API's peak memory", unit: 'MB', values: [await memoryOf(api.child)], target: { atMost: 250 } },
      ]
    }),
}

/** Not by fetch, whose streams would keep this process busy. */
async function exportAll({ url }: Server, key: string, format: string): Promise<void> {
  const response = await new Promise<IncomingMessage>((resolve, reject) =>
    get(`${url}/contacts/export?format=${format}`, { headers: { authorization: `Bearer ${key}` } }, resolve).once(
      'error',
      reject,
    ),
  )
  if (response.statusCode !== 200) throw new Error(`The export answered ${response.statusCode}`)
  await pipeline(response, devNull())
}

const devNull = () => new Writable({ write: (_chunk, _encoding, done) => done() })
