/** Each way to a confirmed subscription stores the proof of consent. */
import type { Consent } from '@rapport/core/db/schema/index.ts'
import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import type { Import } from '@rapport/core/imports/imports.schema.ts'
import { unsubscribeUrl } from '@rapport/core/lists/subscription-links.ts'
import { setQuotas } from '@rapport/core/workspaces/set-quotas.ts'
import { runQueuedImport } from '@rapport/testing/fixtures/imports.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { aTimestamp, anId, freshAddress, freshEmail, startTestApi, type TestWorkspace } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
let workspace: TestWorkspace
beforeAll(async () => {
  workspace = await api.signUp()
})

/** The request comes from `address`, and the link in the email is used from `clickAddress`. */
interface Visit {
  email: string
  listId: string
  address: string
  clickAddress: string
}
type Way = (visit: Visit) => Promise<Expected>
/** Expected properties of a consent, also by asymmetric matchers. */
type Expected = { [Name in keyof Consent]?: unknown }

const wording = 'Yes, send me the newsletter.'
const createVisit = async (): Promise<Visit> => {
  const { id } = await api.create('/lists', workspace.key, { name: 'News' })
  return { email: freshEmail(), listId: String(id), address: freshAddress(), clickAddress: freshAddress() }
}

async function visitForm({ email, listId, address: from }: Visit) {
  const fields = [
    { id: 'email', label: 'Email', type: 'EMAIL', required: true, mapsTo: 'email' },
    { id: 'news', label: wording, type: 'CONSENT', required: true },
  ]
  const form = await api.create<{ id: string }>('/forms', workspace.key, { name: 'Sign up', listId, fields })
  const body = { values: { email, news: true } }
  expect((await api.call('POST', `/public/forms/${form.id}/submit`, { body, from })).status).toBe(201)
  return { method: 'FORM', address: from, formId: form.id, wording: [wording] } as const
}

async function subscribe({ email, listId, address: from }: Visit) {
  expect((await api.call('POST', `/public/lists/${listId}/subscribe`, { body: { email }, from })).status).toBe(202)
  return { method: 'PUBLIC_SUBSCRIBE', address: from } as const
}

async function add({ email, listId }: Visit, { token = workspace.key, status = 'CONFIRMED' } = {}) {
  const added = await api.call('POST', `/lists/${listId}/subscribers`, { key: token, body: { email, status } })
  expect([200, 201]).toContain(added.status)
  return { method: 'API', address: null, actorId: token === workspace.key ? anId('key') : anId('usr') } as const
}

async function importFile({ email, listId }: Visit) {
  const { body } = await api.call<Import>('POST', `/contacts/import?listId=${listId}&consent=confirmed`, {
    key: workspace.key,
    raw: `email\n${email}\n`,
    headers: { 'content-type': 'text/csv' },
  })
  // The worker has neither the actor nor the address of the request.
  await runQueuedImport({ ...api.ctx(workspace.id), actor: { kind: 'system' } }, body.id)
  return { method: 'IMPORT', address: null, importId: body.id, actorId: anId('key') } as const
}

async function confirm({ email, clickAddress: from }: Visit, given?: string) {
  const token = given ?? (await api.tokenMailedTo(email))
  expect((await api.call('POST', `/public/subscriptions/confirm?token=${token}`, { from })).status).toBe(200)
  return { doubleOptIn: true, confirmedFrom: from }
}

const findContactId = async (email: string) => {
  const { body } = await api.call<{ data: { id: string }[] }>('GET', `/contacts?email=${email}`, { key: workspace.key })
  return Id('con').parse(body.data[0]?.id)
}

async function unsubscribe({ email, listId }: Visit): Promise<string> {
  const contactId = await findContactId(email)
  const url = unsubscribeUrl(api.ctx(workspace.id), { listId: Id('lst').parse(listId), contactId, email })
  const { text } = await api.call('POST', url.replace('https://crm.example.com', ''))
  return /action="([^"]*undo-unsubscribe\?token=[^"]+)"/.exec(text)?.[1] ?? ''
}

const remove = async ({ email, listId }: Visit) =>
  api.call('DELETE', `/lists/${listId}/subscribers/${await findContactId(email)}`, { key: workspace.key })

async function readConsents({ email, listId }: Visit): Promise<Consent[]> {
  const [row] = await api.query(
    `select consent from subscriptions s
     join contacts c on c.workspace_id = s.workspace_id and c.id = s.contact_id where c.email = $1 and list_id = $2`,
    [email, uuidOf(Id('lst').parse(listId))],
  )
  return (row?.['consent'] ?? []) as Consent[]
}

const proof = (visit: Visit, expected: Expected) => ({
  at: aTimestamp,
  email: visit.email,
  address: null,
  formId: null,
  wording: [],
  importId: null,
  actorId: null,
  doubleOptIn: false,
  confirmedAt: aTimestamp,
  confirmedFrom: null,
  ...expected,
})

const pending = { doubleOptIn: true, confirmedAt: null, issuedAt: aTimestamp }

const withoutLink: Record<string, Way> = {
  'an API key': (visit) => add(visit),
  'a user': (visit) => add(visit, { token: workspace.token }),
  'an import': importFile,
  'an import of a contact that waits for the link': async (visit) => {
    await add(visit, { status: 'PENDING' })
    return importFile(visit)
  },
  'an import of a contact that was removed': async (visit) => {
    await add(visit, { status: 'PENDING' })
    await remove(visit)
    return importFile(visit)
  },
  'an API key, for a contact that waits for the link': async (visit) => {
    await add(visit, { status: 'PENDING' })
    return add(visit)
  },
}
const withLink: Record<string, Way> = {
  'the public route': subscribe,
  'a form': visitForm,
  'an API key': (visit) => add(visit, { status: 'PENDING' }),
  'the second of two requests': async (visit) => {
    await subscribe(visit)
    await api.query('delete from mail_requests')
    return visitForm(visit)
  },
}

describe('stores the proof of consent by', () => {
  test.each(Object.entries(withoutLink))('%s', async (_, way) => {
    const visit = await createVisit()
    const expected = await way(visit)
    expect(await readConsents(visit)).toEqual([proof(visit, expected)])
  })

  test.each(Object.entries(withLink))('%s, with double opt-in', async (_, way) => {
    const visit = await createVisit()
    const expected = await way(visit)
    expect((await readConsents(visit))[0]).toEqual(proof(visit, { ...expected, ...pending }))
    const completed = { ...expected, ...(await confirm(visit)) }
    expect(await readConsents(visit)).toEqual([proof(visit, completed)])
  })

  test('a link that was requested before proofs were stored', async () => {
    const visit = await createVisit()
    await subscribe(visit)
    await api.query('update subscriptions set consent = null')
    const completed = { method: 'CONFIRMATION_LINK', address: visit.clickAddress, ...(await confirm(visit)) } as const
    expect(await readConsents(visit)).toEqual([proof(visit, completed)])
  })
})

describe('a link completes the request that it was mailed for', () => {
  test('after another person has asked with the address', async () => {
    const visit = await createVisit()
    const own = await visitForm(visit)
    const token = await api.tokenMailedTo(visit.email)
    await api.query('delete from mail_requests')
    const other = await subscribe({ ...visit, address: freshAddress() })
    expect(await readConsents(visit)).toEqual([
      proof(visit, { ...other, ...pending }),
      proof(visit, { ...own, ...pending }),
    ])
    const completed = { ...own, ...(await confirm(visit, token)) }
    expect(await readConsents(visit)).toEqual([proof(visit, completed)])
  })

  test('after the contact had another address, with another request', async () => {
    const visit = await createVisit()
    const own = await subscribe(visit)
    const token = await api.tokenMailedTo(visit.email)
    const contact = `/contacts/${await findContactId(visit.email)}`
    const email = freshEmail()
    const move = (body: { email: string }) => api.call('PATCH', contact, { key: workspace.key, body })
    await move({ email })
    await subscribe({ ...visit, email })
    expect((await move({ email: visit.email })).status).toBe(200)
    const completed = { ...own, ...(await confirm(visit, token)) }
    expect(await readConsents(visit)).toEqual([proof(visit, completed)])
  })

  test('or the last of several, whose email waited for the budget', async () => {
    const ctx = api.ctx(workspace.id)
    await setQuotas(ctx, { confirmations: 100 })
    onTestFinished(() => setQuotas(ctx, { confirmations: null }))
    const visit = await createVisit()
    await subscribe(visit)
    const last = await visitForm({ ...visit, address: freshAddress() })
    expect(await readConsents(visit)).toEqual([proof(visit, { ...last, ...pending })])
    const completed = { ...last, ...(await confirm(visit)) }
    expect(await readConsents(visit)).toEqual([proof(visit, completed)])
  })
})

describe('keeps the proof of an ended subscription', () => {
  test('after the contact unsubscribes and subscribes again', async () => {
    const visit = await createVisit()
    const first = proof(visit, { ...(await visitForm(visit)), ...(await confirm(visit)) })
    const undo = await unsubscribe(visit)
    expect(await readConsents(visit)).toEqual([first])
    await api.call('POST', `/public/${undo}`, { from: visit.address })
    const second = proof(visit, { method: 'UNDO_UNSUBSCRIBE', address: visit.address })
    expect(await readConsents(visit)).toEqual([second, first])
    await unsubscribe(visit)
    await api.query(`update subscriptions set unsubscribed_at = now() - interval '1 h'`)
    await api.query('delete from mail_requests')
    const third = await subscribe(visit)
    expect(await readConsents(visit)).toEqual([proof(visit, { ...third, ...pending }), second, first])
    const completed = proof(visit, { ...third, ...(await confirm(visit)) })
    expect(await readConsents(visit)).toEqual([completed, second, first])
  })

  test('after the operator removes the contact and adds it again', async () => {
    const visit = await createVisit()
    const first = proof(visit, await add(visit))
    await remove(visit)
    expect(await readConsents(visit)).toEqual([first])
    const second = proof(visit, await add(visit))
    expect(await readConsents(visit)).toEqual([second, first])
  })

  test('a confirmed contact that is added again keeps its proof', async () => {
    const visit = await createVisit()
    const first = proof(visit, await add(visit))
    await add(visit)
    await subscribe({ ...visit, address: freshAddress() })
    await importFile(visit)
    expect(await readConsents(visit)).toEqual([first])
  })
})

describe('a merge', () => {
  test('moves the proof with the subscription, after that of the changed address', async () => {
    const visit = await createVisit()
    const moved = proof(visit, await add(visit))
    const survivor = await api.create<{ id: string; email: string }>('/contacts', workspace.key, {
      email: freshEmail(),
    })
    await merge(survivor.id, await findContactId(visit.email))
    const changed = expect.objectContaining({ method: 'ADDRESS_CHANGED', email: survivor.email })
    expect(await readConsents({ ...visit, email: survivor.email })).toEqual([changed, moved])
  })

  test('keeps the proofs of both contacts', async () => {
    const visit = await createVisit()
    const kept = proof(visit, await add(visit))
    const duplicate = { ...visit, email: freshEmail() }
    const moved = proof(duplicate, await add(duplicate))
    await unsubscribe(duplicate)
    await merge(await findContactId(visit.email), await findContactId(duplicate.email))
    expect(await readConsents(visit)).toEqual([moved, kept])
  })

  const merge = async (id: string, contactId: string) =>
    expect((await api.call('POST', `/contacts/${id}/merge`, { key: workspace.key, body: { contactId } })).status).toBe(
      200,
    )
})
