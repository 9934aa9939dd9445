/** Generates a collection of requests for Bruno from an OpenAPI document, in Bruno's format OpenCollection. */
import type { OpenCollection } from '@opencollection/types'
import type { Folder } from '@opencollection/types/collection/item'
import type { Environment } from '@opencollection/types/config/environments'
import type { HttpRequest } from '@opencollection/types/requests/http'
import { stringify } from 'yaml'
import type { OpenApiDocument, Operation } from './openapi-document.ts'
import { type Entry, idVariable, toRequest } from './bruno-request.ts'

const collection: OpenCollection = {
  opencollection: '1.0.0',
  info: { name: 'Rapport' },
  request: { auth: { type: 'bearer', token: '{{apiKey}}' } },
  docs: {
    type: 'text/markdown',
    content: `Requests for every operation of the Rapport API.

1. Select the environment \`installation\`. Its \`baseUrl\` is the installation that this collection comes from.
2. Set \`apiKey\`, a secret variable, to an API key, such as the one that \`pnpm start\` prints.
3. Send \`Contacts\` > \`Create a contact\`.

A request that creates a record stores its id in a variable such as \`contactId\`. Other requests use these variables.
Query parameters and headers are optional, so they are disabled: enable those that you need.
`,
  },
}

/** The files of the collection: the text of each by its path in the folder. */
export function toBrunoCollection(document: OpenApiDocument, publicUrl: string): Map<string, string> {
  const files = new Map([
    ['opencollection.yml', toYaml(collection)],
    ['environments/installation.yml', toYaml(toEnvironment(publicUrl))],
  ])
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const shown = operations.filter(({ operation }) => isForClients(operation))
  const variables = new Set(
    shown.flatMap(({ path, operation }) =>
      (operation.parameters ?? []).map(({ name }) => idVariable(path, name)).filter((name) => name !== undefined),
    ),
  )
  const tags = document.tags.filter(({ name }) => shown.some(({ operation }) => operation.tags[0] === name))
  tags.forEach(({ name, description }, index) => {
    const folder = name.toLowerCase().replaceAll(' ', '-')
    files.set(`${folder}/folder.yml`, toYaml(toFolder(name, { description, seq: index + 1 })))
    const ofTag = shown.filter(({ operation }) => operation.tags[0] === name).toSorted(byLifetime)
    ofTag.forEach((entry, position) => {
      const request = toRequest(entry, { seq: position + 1, variables })
      files.set(`${folder}/${entry.operation.operationId}.yml`, toYaml(request))
    })
  })
  return files
}

/** Pages and scripts are for browsers, POST /mcp is for agents, and this document is the source of the collection. */
const isForClients = ({ tags, operationId }: Operation) =>
  tags[0] !== 'Hosted pages' && !/^(pages|openApi|mcp)\./.test(operationId)

/** Records are created first and deleted last, so that the requests of a folder also work one after another. */
const byLifetime = (a: Entry, b: Entry) => lifetimeOf(a) - lifetimeOf(b)
const lifetimeOf = ({ operation: { operationId } }: Entry) =>
  operationId.endsWith('.create') ? 0 : operationId.endsWith('.delete') ? 2 : 1

const toEnvironment = (publicUrl: string): Environment => ({
  name: 'installation',
  variables: [
    { name: 'baseUrl', value: publicUrl },
    { name: 'apiKey', secret: true },
  ],
})

const toFolder = (name: string, { description, seq }: { description: string; seq: number }): Folder => ({
  info: { name, type: 'folder', seq },
  request: { auth: 'inherit' },
  docs: { type: 'text/markdown', content: description },
})

/** A blank line between the sections, as Bruno writes them. */
const toYaml = (file: OpenCollection | Environment | Folder | HttpRequest): string =>
  Object.entries(file)
    .map(([key, value]: [string, unknown]) => stringify({ [key]: value }, { lineWidth: 0 }))
    .join('\n')
