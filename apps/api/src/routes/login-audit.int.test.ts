/** The entries of the audit log about logins and accounts. */
import type { AuditEntry } from '@rapport/core/audit/audit.schema.ts'
import type { OpenSession, Session } from '@rapport/core/auth/auth.schema.ts'
import { useForFile, useForTest } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { anId, countStatuses, expectError, freshEmail, password, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForTest(() => api.signUp())

const from = '198.51.100.7'
const logIn = (body: object, address = from) => api.call<Session>('POST', '/auth/login', { body, from: address })
const guess = (email: string, address = from) => logIn({ email, password: 'a wrong guess' }, address)

/** The entries of a workspace after its sign-up and first key, oldest first. */
async function readLog(key = workspace.key) {
  const { body } = await api.call<{ data: AuditEntry[] }>('GET', '/audit-log?sort=createdAt&limit=100', { key })
  return body.data.slice(2)
}
const actionsOf = (entries: AuditEntry[]) => entries.map(({ action }) => action)

test('records logins and the end of sessions, with the user and the address', async () => {
  const { email } = workspace
  const sessions = [await logIn({ email, password }), await logIn({ email, password })].map(({ body }) => body)
  await api.call('POST', '/auth/logout', { key: String(sessions[0]?.token) })
  const { body: open } = await api.call<{ data: OpenSession[] }>('GET', '/sessions', { key: workspace.token })
  await api.call('DELETE', `/sessions/${String(open.data[0]?.id)}`, { key: workspace.token })
  const entries = await readLog()
  expect(actionsOf(entries)).toEqual(['session.created', 'session.created', 'session.deleted', 'session.deleted'])
  const userId = sessions[0]?.user.id
  for (const entry of entries) {
    expect(entry).toMatchObject({ actor: { kind: 'user', id: userId }, subjectId: anId('ses'), details: {} })
  }
  expect(entries[0]?.address).toBe(from)
  expect([entries[2], entries[3]].map((entry) => entry?.subjectId)).toEqual([
    entries[0]?.subjectId,
    entries[1]?.subjectId,
  ])
})

test('records a wrong password in each workspace of the user, without what was typed', async () => {
  const other = await api.signUp()
  await api.create('/invites', other.token, { email: workspace.email, role: 'VIEWER' })
  await api.call('POST', '/auth/accept-invite', { body: { token: await api.tokenMailedTo(workspace.email), password } })
  const typed = workspace.email.toUpperCase()
  expectError(await guess(typed), 401)
  const [mine, theirs] = [(await readLog()).at(-1), (await readLog(other.key)).at(-1)]
  const member = await api.call('GET', '/auth/me', { key: workspace.token })
  const { id } = (member.body as { user: { id: string } }).user
  for (const entry of [mine, theirs]) {
    expect(entry).toMatchObject({ action: 'login.failed', actor: { kind: 'public', id: null }, subjectId: id })
    expect(entry).toMatchObject({ details: {}, address: from, requestId: mine?.requestId })
    expect(JSON.stringify(entry)).not.toMatch(/guess|person/i)
  }
})

test('records nothing of an unknown address', async () => {
  const count = async () => Number((await api.query('select count(*) from audit_entries'))[0]?.['count'])
  const before = await count()
  expectError(await guess(freshEmail()), 401)
  expect(await count()).toBe(before)
})

test('a flood of guesses is recorded only as far as the throttle lets it pass', async () => {
  const attempts: number[] = []
  for (let client = 0; client < 80; client++) attempts.push((await guess(workspace.email, `192.0.2.${client}`)).status)
  const responses = await Promise.all(Array.from({ length: 40 }, () => guess(workspace.email, '203.0.113.1')))
  expect(countStatuses(responses)[401] ?? 0).toBeLessThanOrEqual(1)
  const passed = attempts.filter((status) => status === 401).length + (countStatuses(responses)[401] ?? 0)
  const entries = await readLog()
  expect(passed).toBeLessThan(60)
  expect(entries).toHaveLength(passed)
  expect(new Set(actionsOf(entries.slice(0, 49)))).toEqual(new Set(['login.failed']))
  expect(new Set(actionsOf(entries.slice(49)))).toEqual(new Set(['login.locked_out']))
  expect(entries[49]?.details).toEqual({ waitSeconds: 1 })
})

test('records the request and the use of a password reset', async () => {
  for (let count = 0; count < 5; count++)
    await api.call('POST', '/auth/forgot-password', { body: { email: workspace.email } })
  const token = await api.tokenMailedTo(workspace.email)
  const before = await readLog()
  expect(actionsOf(before)).toEqual(Array.from({ length: 3 }, () => 'password_reset.requested'))
  expect(before[0]).toMatchObject({ actor: { kind: 'public', id: null }, subjectId: anId('usr'), details: {} })
  // A verified account keeps its API keys.
  await api.query('update users set email_verified_at = now()')
  await api.call('POST', '/auth/reset-password', { body: { token, password: 'another sentence that is secret' } })
  const used = (await readLog()).at(-1)
  const userId = before[0]?.subjectId
  expect(used).toMatchObject({
    action: 'password_reset.completed',
    actor: { kind: 'user', id: userId },
    subjectId: userId,
  })
})

test('a login and its entry are one transaction', async () => {
  await api.query('alter table audit_entries rename to audit_elsewhere')
  const response = await logIn({ email: workspace.email, password })
  await api.query('alter table audit_elsewhere rename to audit_entries')
  expectError(response, 500)
  expect(api.takeLog()).toHaveLength(1)
  const { body } = await api.call<{ data: OpenSession[] }>('GET', '/sessions', { key: workspace.token })
  expect(body.data).toHaveLength(1)
})
