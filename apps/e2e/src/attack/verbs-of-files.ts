/** Files that bring consent, opt-outs and suppressions along. Each is one request until the import has ended. */
import { waitUntil } from '@rapport/testing/wait.ts'
import { all, type Meaning, type Request } from './log.ts'
import type { Person } from './people.ts'
import type { Verb } from './verbs-of-people.ts'
import { act, pick, pickAddress, type World } from './world.ts'

interface File {
  route: string
  lines: string[]
  means: Meaning[]
}

/** Uploads a file. It is answered when the import has ended. The actor does not wait for that. */
async function importFile(world: World, person: Person, { route, lines, means }: File): Promise<void> {
  const { key } = world
  const [raw, headers] = [`${lines.join('\n')}\n`, { 'content-type': 'text/csv' }]
  let id = ''
  await act(world, person, {
    verb: 'import',
    route,
    key,
    raw,
    headers,
    interpret(body, request) {
      request.what += ` ${lines.slice(1).join(' ')}`
      // What it has done is unknown until it has ended.
      request.means = means
      request.status = 0
      request.endedAt = Infinity
      id = (body as { id: string }).id
    },
  })
  const request = person.log.requests.findLast((one) => one.means === means)
  if (id !== '' && request) world.imports.push(finishImport(world, person, { id, request }))
}

async function finishImport(world: World, person: Person, { id, request }: { id: string; request: Request }) {
  person.acting += 1
  const ended = await waitUntil(() => readEnded(world, id), { describe: `${id} has ended`, timeoutMs: 60_000 })
  person.acting -= 1
  request.endedAt = Date.now()
  request.status = ended === 'COMPLETED' ? 200 : 0
}

async function readEnded({ apis: [api], key }: World, id: string): Promise<string | undefined> {
  const { body } = (await api?.call<{ status: string }>('GET', `/imports/${id}`, { key })) ?? {}
  return body && !/QUEUED|RUNNING/.test(body.status) ? body.status : undefined
}

export const verbsOfFiles: Record<string, Verb> = {
  importContacts(world, person) {
    const list = pick(world.random, world.lists)?.id ?? ''
    const address = pickAddress(world, person)
    const status = pick(world.random, ['CONFIRMED', 'CONFIRMED', 'PENDING', 'UNSUBSCRIBED']) ?? ''
    const isOfList = status !== 'UNSUBSCRIBED' || world.random() < 0.5
    const query = isOfList ? `listId=${list}&consent=confirmed` : ''
    const scope = isOfList ? list : all
    const means: Record<string, Meaning[]> = {
      CONFIRMED: [{ kind: 'grant', list, address }],
      PENDING: [{ kind: 'ask', list, address }],
      UNSUBSCRIBED: [{ kind: 'no', scope, reason: 'OPTED_OUT', source: 'IMPORT', address }],
    }
    const lines = ['email,status', `${address},${status}`]
    const route = `POST /contacts/import?onConflict=update&${query}`
    return importFile(world, person, { route, lines, means: means[status] ?? [] })
  },
  importSuppressions(world, person) {
    const address = pickAddress(world, person)
    const reason = pick(world.random, ['MANUAL', 'OPTED_OUT', 'BOUNCED', 'COMPLAINED'] as const) ?? 'MANUAL'
    const means: Meaning[] = [{ kind: 'no', scope: all, reason, source: 'IMPORT', address }]
    const lines = ['email,reason', `${address},${reason}`]
    return importFile(world, person, { route: 'POST /suppressions/import', lines, means })
  },
}
