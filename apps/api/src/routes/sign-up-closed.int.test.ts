import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectError, freshEmail, password, startTestApi, type TestApi } from '../testing.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi({ environment: { SIGN_UP: 'closed' } })
})
afterAll(() => api.close())

test('where sign-up is closed nobody makes a workspace, whether their address is known or not', async () => {
  const answer = await api.call('POST', '/auth/signup', { body: { email: freshEmail(), password } })
  expectError(answer, 403, 'Sign-up is closed here: ask for an invite')
  expect(await api.query('select from users union all select from workspaces')).toEqual([])
})

test('the operator makes one by the command line, and its key invites whoever is to come', async () => {
  const script = fileURLToPath(import.meta.resolve('@rapport/core/auth/first-workspace.ts'))
  const { stdout } = await promisify(execFile)(process.execPath, [script], { env: { DATABASE_URL: api.database.url } })
  const key = /^rpk_[\w-]{43}$/m.exec(stdout)?.[0] ?? ''
  expect(await api.call('GET', '/auth/me', { key })).toMatchObject({ status: 200, body: { role: 'ADMIN' } })
  const email = freshEmail()
  await api.create('/invites', key, { email, role: 'ADMIN' })
  const token = await api.tokenMailedTo(email)
  expect(await api.call('POST', '/auth/accept-invite', { body: { token, password } })).toMatchObject({ status: 204 })
  expect(await api.call('POST', '/auth/login', { body: { email, password } })).toMatchObject({ status: 200 })
})
