/** What a caller with a credential does, and what mail providers report. */
import { complaints } from '@rapport/testing/mail-providers/provider-bounces.ts'
import { signMessage } from '@rapport/testing/mail-providers/provider-messages.ts'
import { all, type Meaning, type Reason, type Request } from './log.ts'
import type { Person } from './people.ts'
import type { Verb } from './verbs-of-people.ts'
import { act, pick, pickAddress, type World } from './world.ts'

interface Contact {
  id: string
  email: string
}

const listOf = ({ random, lists }: World) => pick(random, lists)?.id ?? ''
const scopeOf = (world: World) => (world.random() < 0.5 ? all : listOf(world))

const isContact = (body: unknown): body is Contact => typeof body === 'object' && body !== null && 'email' in body

/** Notes which address a contact has. */
const learn = (person: Person) => (body: unknown, request: Request) => {
  if (!isContact(body)) return
  person.contactIds.add(body.id)
  request.means.push({ kind: 'contact', contactId: body.id, address: body.email })
}

/** Finds a contact of the person, as a caller would who knows the address. */
async function find(world: World, person: Person, address: string): Promise<Contact | undefined> {
  const { key } = world
  const route = `GET /contacts?email=${address}`
  let found: Contact | undefined
  const interpret = (body: unknown, request: Request) => {
    found = (body as { data: Contact[] }).data[0]
    learn(person)(found, request)
  }
  await act(world, person, { verb: 'find', route, key, interpret })
  return found
}

interface Subscriber {
  list: string
  email: string
  status?: 'CONFIRMED' | 'PENDING'
}

export function subscribe(world: World, person: Person, { list, email, status = 'CONFIRMED' }: Subscriber) {
  const { key } = world
  const grant: Meaning = { kind: 'grant', list, address: email }
  return act(world, person, {
    verb: 'add',
    route: `POST /lists/${list}/subscribers`,
    key,
    body: { email, status },
    means: status === 'CONFIRMED' ? [grant] : [{ kind: 'ask', list, address: email }],
    interpret(body, request) {
      const { contactId, status } = body as { contactId: string; status: string }
      person.contactIds.add(contactId)
      const { what, sentAt: notBefore, endedAt: at } = request
      if (status === 'CONFIRMED') request.shows = [{ what: `${what}: CONFIRMED`, address: email, list, notBefore, at }]
    },
  })
}

function report(world: World, person: Person, type: 'BOUNCE' | 'COMPLAINT') {
  const { key } = world
  const mail = pick(world.random, person.newsletters)
  const isAboutMail = mail !== undefined && world.random() < 0.5
  const email = isAboutMail ? mail.address : pickAddress(world, person)
  const reason: Reason = type === 'BOUNCE' ? 'BOUNCED' : 'COMPLAINED'
  const body = {
    type,
    email,
    ...(type === 'BOUNCE' && { permanent: true }),
    ...(isAboutMail && { messageId: mail.messageId }),
  }
  const means: Meaning[] = [{ kind: 'no', scope: all, reason, source: 'MAIL_EVENT', address: email }]
  return act(world, person, { verb: 'report', route: 'POST /mail-events', key, body, means })
}

export const verbsOfOperators: Record<string, Verb> = {
  confirm: (world, person) => subscribe(world, person, { list: listOf(world), email: pickAddress(world, person) }),
  addPending: (world, person) =>
    subscribe(world, person, { list: listOf(world), email: pickAddress(world, person), status: 'PENDING' }),
  async remove(world, person) {
    const contact = await find(world, person, pickAddress(world, person))
    if (!contact) return
    const [{ key }, list, contactId] = [world, listOf(world), contact.id]
    const route = `DELETE /lists/${list}/subscribers/${contactId}`
    await act(world, person, { verb: 'remove', route, key, means: [{ kind: 'removal', list, contactId }] })
  },
  async optOut(world, person) {
    const contact = await find(world, person, pickAddress(world, person))
    if (!contact) return
    const [{ key }, scope, contactId] = [world, scopeOf(world), contact.id]
    const means: Meaning[] = [{ kind: 'no', scope, reason: 'OPTED_OUT', source: 'API', contactId }]
    const body = scope === all ? { note: 'By telephone' } : { listId: scope }
    const route = `POST /contacts/${contactId}/opt-out`
    await act(world, person, { verb: 'optOut', route, key, body, means, interpret: learn(person) })
  },
  async undoOptOut(world, person) {
    const contact = await find(world, person, pickAddress(world, person))
    if (!contact) return
    const [{ key }, scope, contactId] = [world, scopeOf(world), contact.id]
    const route = `DELETE /contacts/${contactId}/opt-out${scope === all ? '' : `?listId=${scope}`}`
    const means: Meaning[] = [{ kind: 'operatorUndo', scope, contactId }]
    await act(world, person, { verb: 'undoOptOut', route, key, means, interpret: learn(person) })
  },
  suppress(world, person) {
    const { key } = world
    const email = pickAddress(world, person)
    const reason = pick(world.random, ['MANUAL', 'OPTED_OUT', 'BOUNCED'] as const) ?? 'MANUAL'
    const means: Meaning[] = [{ kind: 'no', scope: all, reason, source: 'API', address: email }]
    return act(world, person, { verb: 'suppress', route: 'POST /suppressions', key, body: { email, reason }, means })
  },
  async lift(world, person) {
    const { key } = world
    const address = pickAddress(world, person)
    let ids: string[] = []
    const route = `GET /suppressions?email=${address}`
    const interpret = (body: unknown) => {
      ids = (body as { data: { id: string }[] }).data.map(({ id }) => id)
    }
    await act(world, person, { verb: 'find', route, key, interpret })
    const means: Meaning[] = [{ kind: 'lift', address }]
    for (const id of ids)
      await act(world, person, {
        verb: 'lift',
        route: `DELETE /suppressions/${id}`,
        key,
        body: { note: 'It works' },
        means,
      })
  },
  complain: (world, person) => report(world, person, 'COMPLAINT'),
  bounce: (world, person) => report(world, person, 'BOUNCE'),
  complainByHook(world, person) {
    const address = pickAddress(world, person)
    const { headers, body } = signMessage.postmark(
      complaints.postmark({ email: address, providerId: String(world.random()) }),
    )
    const route = `POST /mail-events/postmark/${world.hookId}`
    const means: Meaning[] = [{ kind: 'no', scope: all, reason: 'COMPLAINED', source: 'MAIL_EVENT', address }]
    return act(world, person, { verb: 'report', route, raw: Buffer.from(body), headers, means })
  },
  async upsert(world, person) {
    const email = pickAddress(world, person)
    const route = `PUT /contacts`
    const { key } = world
    await act(world, person, {
      verb: 'upsert',
      route,
      key,
      body: { email, firstName: 'Ada' },
      interpret: learn(person),
    })
  },
  async move(world, person) {
    const [from, to] = world.random() < 0.5 ? person.addresses : person.addresses.toReversed()
    const contact = from === undefined ? undefined : await find(world, person, from)
    if (!contact || from === undefined || to === undefined) return
    const [{ key }, contactId] = [world, contact.id]
    const means: Meaning[] = [{ kind: 'move', contactId, from, to }]
    const route = `PATCH /contacts/${contactId}`
    await act(world, person, { verb: 'move', route, key, body: { email: to }, means, interpret: learn(person) })
  },
  async merge(world, person) {
    const [from, to] = world.random() < 0.5 ? person.addresses : person.addresses.toReversed()
    if (from === undefined || to === undefined) return
    const [duplicate, kept] = [await find(world, person, from), await find(world, person, to)]
    if (!duplicate || !kept) return
    const { key } = world
    const means: Meaning[] = [{ kind: 'merge', contactId: kept.id, duplicateId: duplicate.id, from, to }]
    const [route, body] = [`POST /contacts/${kept.id}/merge`, { contactId: duplicate.id }]
    await act(world, person, { verb: 'merge', route, key, body, means, interpret: learn(person) })
  },
  async erase(world, person) {
    const contact = await find(world, person, pickAddress(world, person))
    if (!contact) return
    const { key } = world
    const means: Meaning[] = [{ kind: 'erasure', contactId: contact.id }]
    await act(world, person, { verb: 'erase', route: `DELETE /contacts/${contact.id}`, key, means })
  },
}
