import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { expect, onTestFinished, test } from 'vitest'
import { expectError, startTestApi } from '../../../test/testing.ts'

const api = useForFile(() => startTestApi())

test('a template is changed beside an email, and begins again after a deadlock', async () => {
  const body = { name: 'Reset', subject: 'Hello', text: 'Hello', ground: 'SECURITY' }
  const { id: workspaceId, key } = await api.signUp()
  const { id } = await api.create<{ id: string }>('/templates', key, body)
  const path = `/templates/${id}`
  const tag = (await api.call('GET', path, { key })).headers['etag'] ?? 'no ETag'
  const change = (ifMatch: string) =>
    api.call('PATCH', path, { key, headers: { 'if-match': ifMatch }, body: { subject: 'Bye' } })
  const uuids = [uuidOf(Id('wsp').parse(workspaceId)), uuidOf(Id('tpl').parse(id))]
  const lock = (mode: string) =>
    withAccept.query(`select from templates where workspace_id = $1 and id = $2 for ${mode}`, uuids)
  const withAccept = await api.database.pool.connect()
  onTestFinished(() => withAccept.release())
  // As a call that accepts an email, and then waits for what a report holds.
  await withAccept.query('start transaction')
  await lock('key share')
  expectError(await change('"other"'), 412)
  const response = change(tag)
  await waitUntilBlocked(api.database.db)
  await lock('no key update')
  await withAccept.query('commit')
  expect((await response).status).toBe(200)
})
