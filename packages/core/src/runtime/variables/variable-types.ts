import { z } from 'zod'

/** A list; without the variable, it is empty. */
export const commaSeparated = <T extends z.ZodType>(item: T) =>
  z.preprocess(
    (value) =>
      typeof value === 'string'
        ? value
            .split(',')
            .map((part) => part.trim())
            .filter(Boolean)
        : [],
    z.array(item),
  )

export const dnsName = (error: string) =>
  z.string().regex(/^(?=.{1,253}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/i, error)

export const port = z.coerce
  .number('must be a port number (0 to 65535)')
  .refine((value) => Number.isInteger(value) && value >= 0 && value <= 65_535, 'must be a port number (0 to 65535)')
