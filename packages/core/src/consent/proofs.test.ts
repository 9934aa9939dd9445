import { expect, test } from 'vitest'
import type { Consent } from '../db/schema/index.ts'
import { timestampAt } from '../kernel/values/timestamps.ts'
import type { Ctx } from '../request/context.ts'
import { givenConsent, requestedConsent, withProof } from './proofs.ts'

const ctx = { actor: { kind: 'public' } } as Ctx
const email = 'ada@example.com'

test('requests that are never confirmed push out no proof', () => {
  const given = givenConsent(ctx, email, { method: 'API' })
  let proofs: Consent[] = [given]
  for (let time = 1; time <= 30; time++) {
    const request = { method: 'PUBLIC_SUBSCRIBE', issuedAt: timestampAt(time) } as const
    proofs = withProof(proofs, requestedConsent(ctx, email, request))
  }
  expect(proofs).toHaveLength(21)
  expect([proofs[0]?.issuedAt, proofs.at(-1)]).toEqual([timestampAt(30), given])
})
