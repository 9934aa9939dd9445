import { expect, test } from 'vitest'
import type { Consent } from '../db/schema/index.ts'
import { timestampAt } from '../kernel/values/timestamps.ts'
import type { Ctx } from '../request/context.ts'
import { givenConsent, requestedConsent, withConfirmation, withProof } from './proofs.ts'

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

test('a link completes a request that an older version stored without its moment', () => {
  const own = requestedConsent(ctx, email, { method: 'FORM' })
  const later = requestedConsent(ctx, email, { method: 'PUBLIC_SUBSCRIBE', issuedAt: timestampAt(30) })
  const elsewhere = requestedConsent(ctx, 'eve@example.com', { method: 'API' })
  const proofs = withConfirmation(ctx, [elsewhere, later, own], { email, issuedAt: timestampAt(10) })
  expect(proofs).toEqual([{ ...own, confirmedAt: expect.any(String) }])
})
