/** What a person does: on pages, by links in mails, and by buttons of mail programs. */
import { all, type Meaning, type Request } from './log.ts'
import type { Person } from './people.ts'
import { act, pick, pickAddress, type World } from './world.ts'

export type Verb = (world: World, person: Person) => Promise<unknown> | undefined

const form = (fields: Record<string, string>) => ({
  raw: new URLSearchParams(fields).toString(),
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
})

function ask(world: World, person: Person) {
  const list = pick(world.random, world.lists) ?? world.lists[0]
  const address = pickAddress(world, person)
  const means: Meaning[] = [{ kind: 'ask', list: list.id, address }]
  return { list, address, means }
}

function unsubscribe(world: World, person: Person, raw?: string) {
  const mail = pick(world.random, person.newsletters)
  if (!mail) return undefined
  const { list, address, contactId } = mail
  return act(world, person, {
    verb: raw === undefined ? 'unsubscribe' : 'oneClick',
    route: `POST /public/unsubscribe?token=${mail.unsubscribe}`,
    ...(raw !== undefined && form({ 'List-Unsubscribe': raw })),
    means: [{ kind: 'no', scope: list, reason: 'OPTED_OUT', source: 'LINK', address, contactId }],
    interpret(body, request: Request) {
      const token = /undo-unsubscribe\?token=([\w.-]+)/.exec(String(body))?.[1]
      if (token) person.undos.push({ token, list, address, of: request })
    },
  })
}

function choose(world: World, person: Person, verb: 'leave' | 'stop' | 'return') {
  const mail = pick(world.random, person.newsletters)
  if (!mail) return undefined
  const { address, contactId } = mail
  const list = pick(world.random, world.lists)?.id ?? ''
  const no = { kind: 'no', reason: 'OPTED_OUT', source: 'LINK', address, contactId } as const
  const means: Meaning[] = {
    leave: [{ ...no, scope: list }],
    stop: [{ ...no, scope: all }],
    return: [{ kind: 'ask', list, address } as const],
  }[verb]
  const choice = form({ token: mail.preferences, [verb]: verb === 'stop' ? 'all' : list })
  return act(world, person, { verb, route: `POST /public/preferences?${verb}=${list}`, means, ...choice })
}

export const verbsOfPeople: Record<string, Verb> = {
  signUp(world, person) {
    const { list, address, means } = ask(world, person)
    return act(world, person, {
      verb: 'signUp',
      route: `POST /public/lists/${list.id}/subscribe`,
      body: { email: address },
      means,
    })
  },
  signUpByForm(world, person) {
    const { list, address, means } = ask(world, person)
    const body = { values: { email: address, news: true } }
    return act(world, person, { verb: 'signUp', route: `POST /public/forms/${list.formId}/submit`, body, means })
  },
  signUpByPage(world, person) {
    const { list, address, means } = ask(world, person)
    const fields = form({ email: address, news: 'true' })
    return act(world, person, { verb: 'signUp', route: `POST /f/${list.formId}`, means, ...fields })
  },
  link(world, person) {
    const mail = pick(world.random, person.confirmations)
    if (!mail) return undefined
    const { list, address, mailedAt } = mail
    const route = `POST /public/subscriptions/confirm?token=${mail.token}`
    return act(world, person, { verb: 'link', route, means: [{ kind: 'link', list, address, mailedAt }] })
  },
  unsubscribe: (world, person) => unsubscribe(world, person),
  oneClick: (world, person) => unsubscribe(world, person, 'One-Click'),
  undo(world, person) {
    const undo = person.undos.at(-1)
    if (!undo) return undefined
    const { list, address, of } = undo
    const route = `POST /public/subscriptions/undo-unsubscribe?token=${undo.token}`
    return act(world, person, { verb: 'undo', route, means: [{ kind: 'undo', list, address, of }] })
  },
  leave: (world, person) => choose(world, person, 'leave'),
  stopAll: (world, person) => choose(world, person, 'stop'),
  return: (world, person) => choose(world, person, 'return'),
}
