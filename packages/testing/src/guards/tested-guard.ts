import type { Guard } from './remove-guard.ts'

/** The promises of `docs/proof.md`. */
export const promises = [
  'writes',
  'campaigns',
  'emails',
  'isolation',
  'limits',
  'input',
  'outages',
  'events',
  'consent',
  'availability',
] as const

export interface TestedGuard extends Guard {
  promise: (typeof promises)[number]
  /** The test files that notice its removal. */
  tests: readonly string[]
}
