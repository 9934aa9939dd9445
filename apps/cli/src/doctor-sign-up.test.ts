import { expect, test } from 'vitest'
import { containing, runDoctor } from './testing.ts'

test('the doctor warns if anyone can sign up and send from any address', async () => {
  const findings = async (env: Record<string, string>) => (await runDoctor(env))('Sign-up')
  expect(await findings({})).toEqual(containing('warn: anyone can sign up'))
  expect(await findings({ SIGN_UP: 'closed' })).toEqual([])
  expect(await findings({ MAIL_FROM_DOMAINS: 'example.com' })).toEqual([])
  expect(await findings({ REQUIRE_VERIFIED_EMAIL: 'true' })).toEqual([])
})
