/** Reads `docker-compose.yml` as Docker Compose does. */
import { parse } from 'yaml'
import { readRepositoryText } from '../conventions/repository-texts.ts'

export interface ComposeService {
  image: string
  user?: string
  command: string[]
  profiles?: string[]
  environment: Record<string, string>
  env_file?: { path: string }[]
  ports?: string[]
  read_only: boolean
  cap_drop: string[]
  security_opt: string[]
  mem_limit: string
  stop_grace_period?: string
}

export const composeText = readRepositoryText('docker-compose.yml')

/** The services with their variables replaced. Throws what Docker Compose reports for a required variable. */
export function readComposeServices(variables: Record<string, string>): Record<string, ComposeService> {
  const reviver = (_key: unknown, value: unknown) => (typeof value === 'string' ? replace(value, variables) : value)
  const { services } = parse(composeText, reviver, { merge: true }) as { services: Record<string, ComposeService> }
  return services
}

const reference = /\$\{(?<name>[A-Z_]+):(?<operator>[-?])(?<rest>[^${}]*)\}/

/** Replaces the innermost reference first, as a default may contain another reference. */
function replace(text: string, variables: Record<string, string>): string {
  const { 0: found, groups: { name = '', operator, rest = '' } = {} } = reference.exec(text) ?? { 0: '' }
  if (found === '') return text
  if (!variables[name] && operator === '?') throw new Error(`required variable ${name} is missing a value: ${rest}`)
  return replace(
    text.replace(found, () => variables[name] || rest),
    variables,
  )
}
