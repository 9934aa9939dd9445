import { eq, sql } from 'drizzle-orm'
import { beforeAll, expect, test } from 'vitest'
import { createTestCtx, testSettings } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { apiKeys, members, sessions } from '../db/schema/index.ts'
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
    tokens.push((await createApiKey(ctx, { name: role, role, rights: null, expiresAt: null })).key)
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

test('a session has the role of its workspace, whatever the user is in others', async () => {
  const token = tokens[3] ?? ''
  const find = createCredentialFinder(database.db)
  const own = await find(token)
  if (own?.actor.kind !== 'user') throw new Error('The token has no session')
  const { workspaceId } = await createTestCtx(database.db)
  await database.db.insert(members).values({ workspaceId, userId: own.actor.userId, role: 'VIEWER' })
  await database.db.update(members).set({ role: 'MEMBER' }).where(eq(members.workspaceId, own.workspaceId))
  for (let count = 0; count < 5; count++) expect(await find(token)).toMatchObject({ actor: { role: 'MEMBER' } })
})
