/** The organizations, customers and subscriptions of a made-up product. Replace them with queries of your database. */
export interface Organization {
  id: string
  name: string
  domain: string
}

export interface Customer {
  id: string
  email: string
  firstName: string
  lastName: string
  plan: 'Free' | 'Team' | 'Business'
  organizationId: string
}

/** What an organization pays for, or tries. */
export interface Subscription {
  number: number
  organizationId: string
  /** Who asked for it. */
  customerId: string
  plan: 'Team' | 'Business'
  state: 'TRIAL' | 'ACTIVE' | 'CANCELED'
  yearlyCents: number
}

const firstNames = ['Ada', 'Alan', 'Barbara', 'Edsger', 'Grace', 'Katherine', 'Ken', 'Margaret', 'Niklaus', 'Radia']
const lastNames = ['Hopper', 'Kay', 'Liskov', 'Lovelace', 'Perlman', 'Ritchie', 'Thompson', 'Turing', 'Wirth']
const plans = ['Free', 'Team', 'Business'] as const
const pick = <Item>(items: readonly Item[], number: number) => items[number % items.length] as Item

/** 40 organizations, of 50 customers each. */
export const organizations: Organization[] = Array.from({ length: 40 }, (_, index) => {
  const number = index + 1
  return { id: `org_${number}`, name: `${pick(lastNames, number)} ${number}`, domain: `customer-${number}.example` }
})

/** 2,000 customers, of whom number 700 and number 1400 have an invalid address. */
export const customers: Customer[] = Array.from({ length: 2_000 }, (_, index) => {
  const number = index + 1
  const [firstName, lastName] = [pick(firstNames, number), pick(lastNames, number)]
  const host = number % 700 === 0 ? 'example' : 'example.com'
  const email = `${firstName}.${lastName}.${number}@${host}`.toLowerCase()
  const organizationId = pick(organizations, number).id
  return { id: `cus_${number}`, email, firstName, lastName, plan: pick(plans, number), organizationId }
})

/** One of each organization, of its first customer. */
export const subscriptions: Subscription[] = organizations.map(({ id: organizationId }, index) => {
  const number = index + 1
  const customerId = customers.find((customer) => customer.organizationId === organizationId)?.id ?? ''
  const state = pick(['ACTIVE', 'TRIAL', 'ACTIVE', 'CANCELED'] as const, number)
  const [plan, yearlyCents] = pick([['Team', 24_000] as const, ['Business', 48_000] as const], number)
  return { number, organizationId, customerId, plan, state, yearlyCents }
})
