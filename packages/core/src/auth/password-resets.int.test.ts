/** Requests that run while a password is reset. */
import { readMailedToken, testSettings } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { beforeEach, expect, test } from 'vitest'
import { resetPassword } from '../operations/mail/reset-password.ts'
import type { BaseCtx } from '../request/context.ts'
import { logIn, signUp } from './login.ts'
import { requestPasswordReset } from './password-resets.ts'

const database = useTestDatabase()
const password = 'a long sentence that is hard to guess'
const newPasswords = ['another sentence that is hard to guess', 'a third sentence that is hard to guess'] as const
let base: BaseCtx
let email: string
let token: string
let count = 0
beforeEach(async () => {
  base = { db: database.db, requestId: 'test', settings: testSettings }
  email = `ada-${(count += 1)}@example.com`
  await signUp(base, { email, password, name: '' })
  await requestPasswordReset(base, { email })
  token = await readMailedToken(base, email)
})

const canLogIn = (given: string) =>
  logIn(base, { email, password: given }).then(
    () => true,
    () => false,
  )

test('of two requests with one link, one sets the password', async () => {
  const first = await openTransaction(database.db, (db) =>
    resetPassword({ ...base, db }, { token, password: newPasswords[0] }),
  )
  const second = resetPassword(base, { token, password: newPasswords[1] })
  await waitUntilBlocked(database.db)
  const [refusal] = await Promise.all([second.catch((error: unknown) => error), first.commit()])
  expect(refusal).toMatchObject({ code: 'invalid_token' })
  expect([await canLogIn(newPasswords[0]), await canLogIn(newPasswords[1])]).toEqual([true, false])
})

test('a login with the former password opens no session while it is reset', async () => {
  const resetting = await openTransaction(database.db, (db) =>
    resetPassword({ ...base, db }, { token, password: newPasswords[0] }),
  )
  // From another client: the reset locks the counter of failed logins of its own.
  const loggingIn = logIn({ ...base, address: '203.0.113.9' }, { email, password })
  await waitUntilBlocked(database.db)
  const [refusal] = await Promise.all([loggingIn.catch((error: unknown) => error), resetting.commit()])
  expect(refusal).toMatchObject({ code: 'unauthorized' })
})
