import { eq, sql } from 'drizzle-orm'
import { beforeAll, expect, test } from 'vitest'
import { createTestCtx, testSettings } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { apiKeys, sessions } from '../db/schema/index.ts'
import { hashToken, newToken } from '../kernel/crypto.ts'
import { createApiKey } from './api-keys.ts'
import { createCredentialFinder, type Credential } from './find-credential.ts'
import { signUp } from './login.ts'

const database = useTestDatabase()
/** Two valid tokens of each kind, one expired token of each kind, and unknown tokens. */
const tokens: string[] = []
beforeAll(async () => {
  const { db } = database
  for (const role of ['VIEWER', 'ADMIN', 'MEMBER'] as const) {
    const ctx = await createTestCtx(db)
    tokens.push((await createApiKey(ctx, { name: role, role, expiresAt: null })).key)
    const person = { email: `${role.toLowerCase()}@example.com`, password: 'seven long wooden spoons', name: '' }
    tokens.push((await signUp({ db, requestId: 'test', settings: testSettings }, person)).token)
  }
  const past = sql`now() - interval '1 second'`
  const [key = '', session = ''] = tokens
  await db
    .update(apiKeys)
    .set({ expiresAt: past })
    .where(eq(apiKeys.keyHash, hashToken(key)))
  await db
    .update(sessions)
    .set({ expiresAt: past })
    .where(eq(sessions.tokenHash, hashToken(session)))
  tokens.push(newToken('rpk'), 'unknown', '')
})

test('concurrent look-ups return the same credentials as sequential ones', async () => {
  const many = Array.from({ length: 300 }, (_, index) => tokens[(index * 7) % tokens.length] ?? '')
  const sequential: (Credential | undefined)[] = []
  for (const token of tokens) sequential.push(await createCredentialFinder(database.db)(token))
  const kinds = sequential.map((found) => found?.actor.kind ?? 'none')
  expect(kinds).toEqual(['none', 'none', 'apiKey', 'user', 'apiKey', 'user', 'none', 'none', 'none'])

  const concurrent = await Promise.all(many.map(createCredentialFinder(database.db)))

  expect(concurrent).toEqual(many.map((token) => sequential[tokens.indexOf(token)]))
})
