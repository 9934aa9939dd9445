import type { ErasureReceipt } from '@rapport/core/operations/contacts/erasure-receipt.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { eraseTestContact } from '../../test/records.ts'
import { expectError, freshEmail, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())

test('POST /contacts/{id}/erasure-receipt: for an ADMIN, after the deletion', async () => {
  const workspace = await api.signUp()
  const email = freshEmail()
  const { id } = await api.create<{ id: string }>('/contacts', workspace.key, { email })
  const path = `/contacts/${id}/erasure-receipt`
  const [admin, member] = [await api.issueKey(workspace.token, 'ADMIN'), await api.issueKey(workspace.token, 'MEMBER')]
  const request = { key: admin, body: { emails: [email] } }
  expectError(await api.call('POST', path, request), 409, 'The contact is not deleted: delete it first')
  await api.call('DELETE', `/contacts/${id}`, { key: workspace.key })
  const headers = { 'idempotency-key': 'receipt' }
  expectError(
    await api.call('POST', path, { ...request, headers }),
    409,
    'The erasure is not finished; try again within a minute',
  )
  await eraseTestContact(api, workspace, id)
  expect(await api.call('POST', path, { ...request, key: member })).toMatchObject({ status: 403 })
  const { status, body } = await api.call<ErasureReceipt>('POST', path, request)
  expect([status, Object.keys(body)]).toEqual([200, ['searchedTables', 'searchedRedisKeys', 'found', 'notSearched']])
  expect(body.found).toContainEqual({ place: 'audit_entries.subject_id', rows: 1, reason: expect.any(String) })
  expect(body.found.filter(({ reason }) => reason === null)).toEqual([])
  // The same key: a receipt that came too early is not repeated.
  expect(await api.call('POST', path, { ...request, headers })).toMatchObject({ status: 200, body })
  expect(await api.call('POST', path, { key: admin, body: { emails: ['ada'] } })).toMatchObject({ status: 400 })
})
