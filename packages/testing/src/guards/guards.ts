/**
 * The guards of the promises: texts of the code without which a promise is broken. `pnpm prove guards` removes each in
 * turn, and the tests named beside it must notice. Claims have guards of their own, which the simulation removes:
 * `apps/worker/test/simulation/mutants`.
 */
import { apiGuards } from './api-guards.ts'
import { availabilityGuards } from './availability-guards.ts'
import { bounceGuards } from './bounce-guards.ts'
import { campaignGuards } from './campaign-guards.ts'
import { consentGuards } from './consent-guards.ts'
import { dealGuards } from './deal-guards.ts'
import { emailGuards } from './email-guards.ts'
import { importGuards } from './import-guards.ts'
import { isolationGuards } from './isolation-guards.ts'
import { preferencesGuards } from './preferences-guards.ts'
import { trackingGuards } from './tracking-guards.ts'
import type { TestedGuard } from './tested-guard.ts'
import { writeGuards } from './write-guards.ts'

export const guards: readonly TestedGuard[] = [
  ...consentGuards,
  ...importGuards,
  ...preferencesGuards,
  ...trackingGuards,
  ...bounceGuards,
  ...writeGuards,
  ...campaignGuards,
  ...dealGuards,
  ...emailGuards,
  ...isolationGuards,
  ...apiGuards,
  ...availabilityGuards,
]
