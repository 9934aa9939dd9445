/** Guards of claims, each taken out: the simulation has to find every one. */
import { drainMutants } from './drain-mutants.ts'
import { workMutants } from './work-mutants.ts'

import { consentMutants } from './consent-mutants.ts'
export const mutants = [...workMutants, ...drainMutants, ...consentMutants]
