import { bounceGuards } from '@rapport/testing/guards/bounce-guards.ts'
import { consentGuards } from '@rapport/testing/guards/consent-guards.ts'
import { emailGuards } from '@rapport/testing/guards/email-guards.ts'
import { writeGuards } from '@rapport/testing/guards/write-guards.ts'
import type { Mutant } from './mutant.ts'

/**
 * Guards of consent, bounces and emails to one person that the simulation reaches, by their names. Others have a second
 * guard behind them in its schedules.
 */
const found: Record<string, Pick<Mutant, 'scenario' | 'seed'>> = {
  'an import confirms before it has read all opt-outs of the file': { scenario: 'import', seed: 1 },
  'an import subscribes an address that is suppressed': { scenario: 'import', seed: 3 },
  'a repeated report counts again': { scenario: 'bounces', seed: 1 },
  'a bounce without a known code suppresses': { scenario: 'bounces', seed: 4 },
  'an email goes to an address that was suppressed after the call': { scenario: 'emails', seed: 5 },
  'the values of an email stay after its outcome': { scenario: 'emails', seed: 1 },
}

export const consentMutants: readonly Mutant[] = [
  ...consentGuards,
  ...writeGuards,
  ...bounceGuards,
  ...emailGuards,
].flatMap(({ name, file, search, replacement }) => {
  const how = found[name]
  return how ? [{ name, file, search, replacement, ...how }] : []
})
