/** The rules for the host of a workspace, and the URL under it. */
import { z } from 'zod'
import { AppError, conflict, invalidField } from '../../kernel/errors.ts'
import { normalizeDomain } from '../../kernel/validation.ts'
import type { Settings } from '../../request/context.ts'
import { returnPathHost } from '../domain-name.ts'

export const HostName = z
  .string()
  .max(500, 'must have at most 500 characters')
  .transform((text, check) => {
    const host = normalizeDomain(text)
    if (host !== undefined) return host
    check.addIssue({ code: 'custom', message: 'must be a host name such as news.example.com: no scheme, port or path' })
    return z.NEVER
  })
  .meta({ examples: ['news.example.com'] })

type PublicUrl = Pick<Settings, 'publicUrl'>

/** The host of the installation: the HOST record leads to it. */
export const installationHost = ({ publicUrl }: PublicUrl): string => new URL(publicUrl).hostname

/** PUBLIC_URL with another host: the same proxy serves both. */
export function urlAtHost({ publicUrl }: PublicUrl, host: string): string {
  const url = new URL(publicUrl)
  url.hostname = host
  return url.href.replace(/\/$/, '')
}

/** Throws `validation_error` unless a domain can have the host, and `already_exists` for that of the installation. */
export function requireHostOf(name: string, host: string, settings: PublicUrl): void {
  if (host !== name && !host.endsWith(`.${name}`))
    throw invalidField('host', `host: must be ${name} or a name below it`)
  if (host === returnPathHost(name)) throw invalidField('host', `host: ${host} is the return path of the domain`)
  const target = installationHost(settings)
  if (host === target) throw hostInUse(host)
  if (normalizeDomain(target) !== undefined) return
  throw new AppError('wrong_state', `No host can lead to ${target}: the operator sets PUBLIC_URL to a domain name`)
}

export const hostInUse = (host: string) => conflict('already_exists', `Host "${host}" is already in use`)
