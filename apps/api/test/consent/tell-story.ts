/**
 * Stories of consent, one step after the other, over the routes of the API:
 *
 *     leave A · operator opts out A · undo: 400 · A is UNSUBSCRIBED
 *
 * A, B and C are lists. `a`, `b` and `c` are addresses: the person starts with `a`, and `as b` is about another one. A step
 * expects 2xx, or the status after its colon. `ask A` is a visitor's request, and `link A` the last link that it mailed.
 */
import type { List } from '@rapport/core/lists/lists.schema.ts'
import type { ListId } from '@rapport/core/kernel/ids.ts'
import { freshEmail, type TestApi } from '../testing.ts'
import {
  ask,
  call,
  changeKey,
  choose,
  clickTwice,
  countAudience,
  countMails,
  deleteList,
  emailOf,
  findContact,
  importExport,
  importRow,
  lift,
  linkOf,
  listOf,
  optOutAtProvider,
  optOutPath,
  readEvents,
  readLostRows,
  readRows,
  readStatus,
  report,
  type Response,
  type Story,
  unsubscribe,
  visit,
} from './story.ts'

type Step = (story: Story, words: string[]) => Promise<Response>
/** Returns what is so. */
type Look = (story: Story, words: string[]) => Promise<string>

/** Each `_` is a word. */
const steps: Record<string, Step> = {
  // The person.
  'ask _': (story, [list = '']) => ask(story, list),
  'link _': (story, [list = '']) => visit(story, `/public/subscriptions/confirm?token=${story.links[list]}`),
  'one-click _': async (story, [list = '']) => unsubscribe(story, await linkOf(story, list)),
  'two clicks _': (story, [list = '']) => clickTwice(story, list),
  'old link': (story) => unsubscribe(story, story.oldLink),
  undo: (story) => visit(story, `/public/subscriptions/undo-unsubscribe?token=${story.undoToken}`),
  'leave _': (story, [list = '']) => choose(story, `leave=${listOf(story, list)}`),
  'stop all': (story) => choose(story, 'stop=all'),
  complain: (story) => report(story, { type: 'COMPLAINT' }),
  'provider opts out': (story) => optOutAtProvider(story),
  bounce: (story) => report(story, { type: 'BOUNCE', permanent: true }),
  // Callers with a credential.
  async 'gets a mail of _'(story, [list = '']) {
    story.oldLink = await linkOf(story, list)
    return { status: 200 }
  },
  create: (story) => call(story, 'POST /contacts', { body: { email: emailOf(story) } }),
  'confirm _'(story, [list = '']) {
    const body = { email: emailOf(story), status: 'CONFIRMED' }
    return call(story, `POST /lists/${listOf(story, list)}/subscribers`, { body })
  },
  'remove _': async (story, [list = '']) =>
    call(story, `DELETE /lists/${listOf(story, list)}/subscribers/${await findContact(story)}`),
  async 'operator opts out _'(story, [scope = '']) {
    const body = scope === 'all' ? {} : { listId: listOf(story, scope) }
    return call(story, `POST /contacts/${await findContact(story)}/opt-out`, { body })
  },
  'operator undoes _': async (story, [scope = '']) => call(story, `DELETE ${await optOutPath(story, scope)}`),
  'suppress as _': (story, [reason]) => call(story, 'POST /suppressions', { body: { email: emailOf(story), reason } }),
  lift: (story) => lift(story),
  'lift at _': (story, [name]) => lift(story, name),
  'file _ _': importRow,
  'file _ _ of _': importRow,
  'export as who left _': importExport,
  async 'move to _'(story, [name = '']) {
    const id = await findContact(story)
    story.at = name
    return call(story, `PATCH /contacts/${id}`, { body: { email: emailOf(story) } })
  },
  async 'merge into _'(story, [name = '']) {
    const [kept, contactId] = [await findContact(story, name), await findContact(story)]
    story.at = name
    return call(story, `POST /contacts/${kept}/merge`, { body: { contactId } })
  },
  erase: async (story) => call(story, `DELETE /contacts/${await findContact(story)}`),
  'delete list _': (story, [list = '']) => deleteList(story, list),
  'changes must be confirmed': (story) => call(story, 'PATCH /workspace', { body: { confirmChangedAddress: true } }),
  // The installation.
  'the key is rotated': (story) => changeKey(story, { SECRET_KEY_PREVIOUS: story.api.config.SECRET_KEY }),
  'the key is lost': (story) => changeKey(story, {}),
  // The story itself.
  async 'as _'(story, [name = '']) {
    story.at = name
    return { status: 200 }
  },
  async 'from here'(story) {
    story.eventsSeen = (await readEvents(story)).length
    story.rowsSeen = await readRows(story)
    return { status: 200 }
  },
}

/** Compared with what follows "is", "are" or "reaches". */
const looks: Record<string, Look> = {
  '_ is': (story, [list = '']) => readStatus(story, list),
  '_ reaches': async (story, [list = '']) => String(await countAudience(story, list)),
  'rows are': async (story) => ((await readRows(story)) === story.rowsSeen ? 'the same' : 'others'),
  'lost rows are': readLostRows,
  'mails to _ are': (story, [name = '']) => countMails(story, name),
  'events are': async (story) => (await readEvents(story)).slice(story.eventsSeen).join(', '),
}

const unseen = { links: {}, undoToken: '', oldLink: '', eventsSeen: 0, rowsSeen: '' }

/** A fresh person with the address `a`, CONFIRMED on A and B. */
async function startStory(api: TestApi, workspace: Story['workspace']): Promise<Story> {
  const create = async () => (await api.create<List>('/lists', workspace.key, { name: 'List' })).id as ListId
  const lists = { A: await create(), B: await create(), C: await create() }
  const emails = { a: freshEmail(), b: freshEmail(), c: freshEmail() }
  const story: Story = { api, workspace, lists, emails, at: 'a', ...structuredClone(unseen) }
  for (const list of ['A', 'B']) await takeStep(story, `confirm ${list}`)
  await call(story, 'PATCH /workspace', { body: { confirmChangedAddress: false } })
  return story
}

/** Tells a story. Returns how: `as told`, or the first step that is not, with what it is instead. */
export async function tellStory(api: TestApi, workspace: Story['workspace'], text: string): Promise<string> {
  const story = await startStory(api, workspace)
  for (const step of text.split(' · ')) {
    const problem = await takeStep(story, step)
    if (problem) return problem
  }
  return 'as told'
}

async function takeStep(story: Story, step: string): Promise<string | undefined> {
  await untilNextMillisecond()
  const [look, expected = ''] = step.split(/(?<= is| reaches| are) /)
  const found = match(looks, look ?? '')
  if (found) {
    const seen = await found.of(story, found.words)
    return seen === expected ? undefined : `${look} ${seen}, not ${expected}`
  }
  const [text = '', wanted] = step.split(': ')
  const known = match(steps, text)
  if (!known) throw new Error(`Unknown step "${text}"`)
  const { status } = await known.of(story, known.words)
  const isWanted = wanted === undefined ? status < 400 : status === Number(wanted)
  return isWanted ? undefined : `${text}: ${status}, not ${wanted ?? '2xx'}`
}

function match<Value>(table: Record<string, Value>, text: string): { of: Value; words: string[] } | undefined {
  for (const [pattern, of] of Object.entries(table)) {
    const [, ...words] = new RegExp(`^${pattern.replaceAll('_', '(\\S+)')}$`).exec(text) ?? []
    if (words.length > 0 || pattern === text) return { of, words }
  }
  return undefined
}

/** What is said in one millisecond has no order. */
async function untilNextMillisecond(): Promise<void> {
  const start = Date.now()
  while (Date.now() === start) await new Promise(setImmediate)
}
