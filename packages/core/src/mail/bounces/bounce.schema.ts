import { z } from 'zod'
import { bounceClasses } from '../../db/schema/index.ts'

export const BounceClass = z
  .enum(bounceClasses)
  .describe(
    'Whose fault the bounce is. `HARD`: the address does not exist. `SOFT`: a problem that may pass. `MESSAGE`: the email. `POLICY`: the sender. `null` without a bounce.',
  )
export type BounceClass = z.output<typeof BounceClass>

export const BounceCode = z
  .string()
  .describe('The status code of the bounce: an enhanced code (RFC 3463), or else the SMTP code. `null` if unknown.')
