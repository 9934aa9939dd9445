import { connect, type Socket } from 'node:net'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { expectError, freshAddress, startTestApi, type TestWorkspace } from '../../test/testing.ts'

const api = useForFile(() => startTestApi({ timings: { exportIdleMs: 500 } }))
let port: number
beforeAll(async () => {
  ;({ port } = await api.listen())
})
let workspace: TestWorkspace
beforeEach(async () => {
  workspace = await api.signUp()
  // More than the buffers of both sockets hold.
  await api.query(
    `insert into contacts (workspace_id, id, email, custom_field_values)
     select $1, uuidv7(), 'p' || n || '@example.com', jsonb_build_object('note', repeat('x', 10000))
     from generate_series(1, 2000) n`,
    [uuidOf(api.ctx(workspace.id).workspaceId)],
  )
})

/** Requests an export on a socket that reads the start of the response and then stops. */
async function startStalledExport(): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  const lines = [
    'GET /contacts/export?format=ndjson HTTP/1.1',
    'host: rapport',
    `authorization: Bearer ${workspace.key}`,
    `x-forwarded-for: ${freshAddress()}`,
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  await new Promise((resolve) => socket.once('data', resolve))
  socket.pause()
  return socket
}

const requestExport = () =>
  api.call('GET', '/contacts/export?format=ndjson&email=p1@example.com', { key: workspace.key })

test('a second export returns 409 until the stalled client of the first is cut off', async () => {
  const socket = await startStalledExport()
  const refused = await requestExport()
  expect(expectError(refused, 409).code).toBe('quota_exceeded')
  expect(refused.body).toMatchObject({ quota: 'exports', limit: 1 })
  expect(refused.headers['retry-after']).toBe('30')
  await waitUntil(async () => (await requestExport()).status === 200, { describe: 'the quota is free again' })
  expect(await countSnapshots()).toBe(0)
  const closed = new Promise((resolve) => socket.once('close', resolve).once('error', () => {}))
  socket.resume()
  await closed
})

test('an export is recorded in the audit log, one above the quota is not', async () => {
  await startStalledExport()
  expectError(await requestExport(), 409)
  const { body } = await api.call('GET', '/audit-log?action=contacts.exported', { key: workspace.key })
  expect(body['data']).toHaveLength(1)
})

async function countSnapshots(): Promise<number> {
  const open = await api.query(
    `select from pg_stat_activity where datname = current_database() and state <> 'idle' and query like '%from snapshot%'
     and pid <> pg_backend_pid()`,
  )
  return open.length
}
