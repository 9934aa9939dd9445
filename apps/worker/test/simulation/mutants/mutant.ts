import type { Guard } from '@rapport/testing/guards/remove-guard.ts'

export interface Mutant extends Guard {
  /** The scenario that reaches it. */
  scenario: 'mails' | 'campaign' | 'cancellation' | 'drain' | 'consent' | 'import' | 'bounces' | 'emails'
  /** A seed of the scenario that finds it. If it does not after a change, `pnpm simulate --mutants` shows another one. */
  seed?: number
}
