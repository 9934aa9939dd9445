/** The people of the demo: always the same ones. */
import type { CompanyInput } from '@rapport/core/companies/companies.schema.ts'
import { ContactInput } from '@rapport/core/contacts/contacts.schema.ts'

const firstNames = [
  'Ada Alan Annie Barbara Charles Claude Donald Dorothy Edsger Frances',
  'Grace Hedy Joan John Katherine Margaret Mary Niklaus Radia Tony',
].flatMap((names) => names.split(' '))
const lastNames = [
  'Allen Babbage Clarke Dijkstra Easley Franklin Goldberg Hopper',
  'Johnson Knuth Lovelace Noether Perlman Shannon Turing',
].flatMap((names) => names.split(' '))
const companyNames = ['Acme', 'Globex', 'Initech', 'Umbrella', 'Northwind', 'Contoso']
const employers = [...companyNames, null]
const plans = ['free', 'free', 'team', 'business'] as const

/** The companies of these people. */
export const companies: CompanyInput[] = companyNames.map((name, index) => ({
  name,
  domain: `${name.toLowerCase()}.example`,
  externalId: `organization-${index + 1}`,
  tags: [index % 2 === 0 ? 'customer' : 'prospect'],
}))

/** 300 people, each with a name that no other one has. */
export const people: ContactInput[] = Array.from({ length: firstNames.length * lastNames.length }, (_, index) => {
  const [position, round] = [index % firstNames.length, Math.floor(index / firstNames.length)]
  const firstName = firstNames[position] ?? ''
  const lastName = lastNames[(position + round) % lastNames.length] ?? ''
  return ContactInput.parse({
    email: `${firstName}.${lastName}@example.com`.toLowerCase(),
    firstName,
    lastName,
    externalId: `customer-${1_001 + index}`,
    company: employers[index % employers.length],
    tags: [index % 3 === 0 ? 'customer' : 'lead', ...(index % 10 === 0 ? ['vip'] : [])],
    locale: index % 5 === 0 ? 'de' : 'en',
    customFieldValues: { plan: plans[index % plans.length], seats: 1 + (index % 40) },
    source: index % 2 === 0 ? 'website' : 'trade fair',
  })
})

/** A file with two rows that an import rejects, and one that it knows already. */
export const importFile = `email,firstName,lastName,plan,seats
grete.hermann@example.com,Grete,Hermann,team,12
this is no address,Karen,Sparck Jones,team,3
sophie.wilson@,Sophie,Wilson,business,8
kathleen.booth@example.com,Kathleen,Booth,free,1
ada.allen@example.com,Ada,Allen,free,1
`
