import type { Invite } from '@rapport/core/team/team.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { expectError, freshEmail, startTestApi } from '../../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const post = <Body>(idempotencyKey: string, path: string, raw?: string) =>
  api.call<Body>('POST', path, {
    key: workspace.token,
    headers: { 'idempotency-key': idempotencyKey },
    ...(raw !== undefined && { raw }),
  })

test('a response with retry-after is not stored: the repetition runs', async () => {
  const body = JSON.stringify({ email: freshEmail(), role: 'MEMBER' })
  const invite = await post<Invite>('invite', '/invites', body)
  const resend = () => post('resend', `/invites/${invite.body.id}/resend`)
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const refused = await resend()
    expectError(refused, 409, 'This address was invited recently')
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(590)
    expect(refused.headers['idempotent-replayed']).toBeUndefined()
  }
  await api.query(`update mail_requests set created_at = now() - interval '1 hour'`)
  expect(await resend()).toMatchObject({ status: 202 })
  expect((await resend()).headers['idempotent-replayed']).toBe('true')
})

test('the order of keys makes no difference at any depth; the order of an array does', async () => {
  for (const key of ['plan', 'size'])
    await api.create('/custom-fields', workspace.key, { key, label: key, type: 'TEXT', options: [] })
  const email = freshEmail()
  const first = await post('order', '/contacts', `{"email":"${email}","customFieldValues":{"plan":"a","size":"b"}}`)
  expect(first.status).toBe(201)
  const again = await post('order', '/contacts', `{"customFieldValues":{"size":"b","plan":"a"},"email":"${email}"}`)
  expect([again.text, again.headers['idempotent-replayed']]).toEqual([first.text, 'true'])

  const segment = (leaf: string) => `{"name":"Segment ${email}","filter":{"all":[${leaf}]}}`
  const leaves = ['{"field":"email","contains":"a"}', '{"contains":"a","field":"email"}'] as const
  const created = await post('segment', '/segments', segment(leaves[0]))
  const repeated = await post('segment', '/segments', segment(leaves[1]))
  expect([created.status, repeated.status, repeated.text]).toEqual([201, 201, created.text])
  const tags = (list: string) => `{"email":"${email}x","tags":${list}}`
  expect((await post('tags', '/contacts', tags('["a","b"]'))).status).toBe(201)
  expectError(await post('tags', '/contacts', tags('["b","a"]')), 422)
})
