/** The rights of an API key: which of the operations that its role may call it is limited to. */
import { AppError } from '../../kernel/errors.ts'
import type { Actor } from '../../request/context.ts'
import { operationIds, operations } from './operations.ts'

/** A key learns what it is, and reaches the tools of agents, each of which needs rights of its own. */
const alwaysAllowed: readonly string[] = ['auth.me', 'mcp.call']

/** With these, a key could make a credential that may do more than itself. */
const withheld: readonly string[] = ['apiKeys', 'invites', 'members']

const resourceOf = (name: string) => name.split('.')[0] ?? ''

/** Operations and whole resources. With a leading `-`, each takes away. */
export const rightNames: readonly string[] = [
  ...Object.keys(operations).map((resource) => `${resource}.*`),
  ...operationIds,
]

export const isAlwaysAllowed = (operationId: string): boolean => alwaysAllowed.includes(operationId)

export const isWithheld = (name: string): boolean => withheld.includes(resourceOf(name))

/** What an operation needs in the rights of a key; undefined if every key, or no key with rights, may call it. */
export function toRequiredRight(operationId: string): string | undefined {
  return isAlwaysAllowed(operationId) || isWithheld(operationId) ? undefined : operationId
}

export function hasRight(actor: Actor, operationId: string): boolean {
  const rights = actor.kind === 'apiKey' ? actor.rights : null
  if (!rights || isAlwaysAllowed(operationId)) return true
  const names = [operationId, `${resourceOf(operationId)}.*`]
  return names.some((name) => rights.includes(name)) && !names.some((name) => rights.includes(`-${name}`))
}

/** Throws `forbidden` unless the credential may call the operation. */
export function requireRight(actor: Actor, operationId: string): void {
  if (!hasRight(actor, operationId))
    throw new AppError('forbidden', `The rights of this API key do not include ${operationId}`)
}
