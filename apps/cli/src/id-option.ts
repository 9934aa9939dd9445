import { Id, type IdOf, type IdPrefix, kindOfId } from '@rapport/core/kernel/ids.ts'
import { z } from 'zod'

/** The schema of an option. Unlike the error of `Id`, its error says which id is needed, and which one was given. */
export function IdOption<Prefix extends IdPrefix>(prefix: Prefix) {
  return z.string().transform((text, check): IdOf<Prefix> => {
    const id = Id(prefix).safeParse(text)
    if (id.success) return id.data
    const [wanted, given] = [kindOfId(prefix), kindOfId(text)]
    const contrast = given === undefined || given === wanted ? '' : `, not of ${given}`
    check.addIssue({
      code: 'custom',
      message: `must be the id of ${wanted} (${prefix}_ and 26 characters)${contrast}`,
    })
    return z.NEVER
  })
}
