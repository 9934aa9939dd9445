/** Sends the requests of the attack, and notes them. */
import type { Random } from '@rapport/testing/runs.ts'
import type { Api, ApiResponse } from '../stack.ts'
import type { Meaning, Request } from './log.ts'
import type { Person } from './people.ts'

export interface World {
  apis: readonly Api[]
  key: string
  hookId: string
  lists: readonly [NamedList, NamedList]
  random: Random
  /** Those that were started. */
  imports: Promise<void>[]
  /** Responses with 5xx, and requests without one. */
  failures: { request: Request; person: Person }[]
}

export interface NamedList {
  id: string
  name: string
  /** Its form has a field for the address and one for the consent. */
  formId: string
}

type Call = Parameters<Api['call']>[2]

interface Act extends NonNullable<Call> {
  verb: string
  /** Method and path. */
  route: string
  /** What a 2xx response means, or what it means in view of the response. */
  means?: Meaning[]
  interpret?: (body: unknown, request: Request) => void
}

export const pick = <T>(random: Random, items: readonly T[]): T | undefined =>
  items[Math.floor(random() * items.length)]

/** Most often the first one, so that what is said meets what was said. */
export const pickAddress = ({ random }: World, { addresses }: Person): string => addresses[random() < 0.75 ? 0 : 1]

/** Sends a request and notes it, also if no response comes. */
export async function act(
  world: World,
  person: Person,
  { verb, route, means = [], interpret, ...call }: Act,
): Promise<ApiResponse<unknown> | undefined> {
  const body = call.body === undefined ? '' : ` ${JSON.stringify(call.body)}`
  const request: Request = { what: `${route}${body}`, verb, sentAt: Date.now(), endedAt: Infinity, status: 0, means }
  person.log.requests.push(request)
  const [method = '', path = ''] = route.split(' ')
  const response = await pick(world.random, world.apis)
    ?.call<unknown>(method, path, call)
    .catch(() => undefined)
  request.endedAt = Date.now()
  request.status = response?.status ?? 0
  if (response && response.status < 400) interpret?.(response.body, request)
  if (!response || response.status >= 500) world.failures.push({ request, person })
  return response
}

/** Creates a list with double opt-in, and a form for it. */
export async function createNewsletterList(api: Api, key: string, name: string): Promise<NamedList> {
  const { id } = (await api.call<{ id: string }>('POST', '/lists', { key, body: { name } })).body
  const fields = [
    { id: 'email', label: 'Email', type: 'EMAIL', required: true, mapsTo: 'email' },
    { id: 'news', label: `Send me ${name}`, type: 'CONSENT' },
  ]
  const form = await api.call<{ id: string }>('POST', '/forms', { key, body: { name, fields, listId: id } })
  return { id, name, formId: form.body.id }
}
