import { z } from 'zod'
import { suggestForEach } from '../../kernel/suggestion.ts'
import { isWithheld, rightNames } from './rights.ts'

const isUnknown = (right: string) => !rightNames.includes(right.replace(/^-/, ''))

export const Rights = z
  .array(z.string().max(100, 'must have at most 100 characters'))
  .max(200, 'must have at most 200 entries')
  .superRefine((rights, context) => {
    const add = (right: string, message: string) =>
      context.addIssue({ code: 'custom', path: [rights.indexOf(right)], message, input: right })
    const unknown = [...new Set(rights.filter(isUnknown))]
    const names = unknown.map((right) => right.replace(/^-/, ''))
    const message = 'must be an operation, such as contacts.list, or all of a resource, such as contacts.*'
    for (const [index, text] of suggestForEach(message, names, rightNames).entries()) add(unknown[index] ?? '', text)
    for (const right of rights.filter(isWithheld))
      add(right, 'must not be of apiKeys, invites or members: the key could make a credential that may do more')
  })
  .refine((rights) => rights.some((right) => !right.startsWith('-')), 'must name an operation that the key may call')
  .transform((rights) => [...new Set(rights)])
