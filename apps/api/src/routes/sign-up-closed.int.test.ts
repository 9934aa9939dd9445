import { newId } from '@rapport/core/kernel/ids.ts'
import { createWorkspaceAndInviteOwner } from '@rapport/core/team/create-workspace.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { expectError, freshEmail, password, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi({ environment: { SIGN_UP: 'closed' } }))

test('a closed sign-up returns 403 and creates nothing', async () => {
  const response = await api.call('POST', '/auth/signup', { body: { email: freshEmail(), password } })
  expect(expectError(response, 403, 'Sign-up is closed: ask for an invite').code).toBe('forbidden')
  expect(await api.query('select from users union all select from workspaces')).toEqual([])
})

test('the operator can create a workspace, and invited users can join', async () => {
  const email = freshEmail()
  await createWorkspaceAndInviteOwner(api.ctx(newId('wsp')), { name: 'Engines', ownerEmail: email })
  const token = await api.tokenMailedTo(email)
  expect(await api.call('POST', '/auth/accept-invite', { body: { token, password } })).toMatchObject({ status: 204 })
  expect(await api.call('POST', '/auth/login', { body: { email, password } })).toMatchObject({ status: 200 })
})
