/** Which paths, such as `contact.firstName`, a template may use. */
import { suggestNear } from '../kernel/suggestion.ts'
import { type TemplateType, templateVariables, variableOutsideSubject } from './template-variables.ts'
import type { TemplateField } from './template-sources.ts'

/** The name or index in a step of a path; undefined if it is known only when the template is rendered. */
export type PathStep = string | number | undefined

/**
 * A value, or an object with the names of its values. A map, so that inherited names such as `constructor` are unknown.
 */
type Node = { type: TemplateType } | { names: Map<string, Node> }

/** The properties that Liquid adds to the values of a type. */
const propertiesOfType: Partial<Record<TemplateType, readonly string[]>> = {
  TEXT: ['size'],
  DATE: ['size'],
  LIST: ['size', 'first', 'last'],
}

export interface KnownVariables {
  has: (path: readonly PathStep[]) => boolean
  /** Returns the name that an unknown path most likely means. */
  suggest: (path: readonly PathStep[]) => string | undefined
}

/** The names that the templates of a workspace can use, beside those that every workspace has. */
export interface TemplateNames {
  customFieldKeys: readonly string[]
  /** The variables of an email to one person, which has no campaign and no list. Undefined for a campaign. */
  data?: readonly { name: string; type: TemplateType }[] | undefined
}

const emailRoots = ['contact', 'workspace', 'locale']

/** Collects the variables of a template. A custom field has a long name and, if no property has it, a short one. */
export function createKnownVariables(field: TemplateField, { customFieldKeys, data }: TemplateNames): KnownVariables {
  const root = { names: new Map<string, Node>() }
  const names: string[] = []
  const add = (name: string, type: TemplateType) => {
    const path = name.split('.')
    const last = path.pop() ?? ''
    const parent = path.reduce(openObject, root)
    if (parent.names.has(last)) return
    parent.names.set(last, { type })
    names.push(name)
  }
  const isUsable = (name: string) =>
    data ? emailRoots.includes(name.split('.')[0] ?? '') : field !== 'subject' || name !== variableOutsideSubject
  for (const { name, type } of templateVariables) if (isUsable(name)) add(name, type)
  for (const { name, type } of data ?? []) add(`data.${name}`, type)
  for (const key of customFieldKeys) add(`contact.${key}`, 'ANY')
  for (const key of customFieldKeys) add(`contact.customFieldValues.${key}`, 'ANY')
  openObject(openObject(root, 'contact'), 'customFieldValues')
  if (data) openObject(root, 'data')
  return { has: (path) => isKnown(root, path), suggest: (path) => suggestName(names, path) }
}

type ObjectNode = Extract<Node, { names: unknown }>

function openObject(parent: ObjectNode, name: string): ObjectNode {
  const known = parent.names.get(name)
  if (known && 'names' in known) return known
  const created: ObjectNode = { names: new Map() }
  parent.names.set(name, created)
  return created
}

function isKnown(root: ObjectNode, path: readonly PathStep[]): boolean {
  let node: Node = root
  for (const step of path) {
    const next: Node | undefined = step === undefined ? { type: 'ANY' } : readStep(node, step)
    if (!next) return false
    node = next
  }
  return true
}

function readStep(node: Node, step: string | number): Node | undefined {
  if ('names' in node) return node.names.get(String(step)) ?? (step === 'size' ? { type: 'NUMBER' } : undefined)
  if (node.type === 'ANY') return node
  if (node.type === 'LIST' && /^-?\d+$/.test(String(step))) return { type: 'TEXT' }
  if (!propertiesOfType[node.type]?.includes(String(step))) return undefined
  return { type: step === 'size' ? 'NUMBER' : 'TEXT' }
}

/**
 * Compares the last name of a path with the names that the object before it has; if there is no such object, the whole
 * path; and then the last names of all variables: `{{ first_name }}` means `contact.firstName`.
 */
function suggestName(names: readonly string[], path: readonly PathStep[]): string | undefined {
  const steps = path.map((step) => String(step ?? ''))
  const last = steps.at(-1) ?? ''
  const prefix = steps
    .slice(0, -1)
    .map((step) => `${step}.`)
    .join('')
  const siblings = names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length))
  const near = siblings.length > 0 ? suggestNear(last, siblings) : suggestNear(steps.join('.'), names)
  if (near !== undefined && steps.length > 1) return siblings.length > 0 ? prefix + near : near
  const lastNames = new Map(names.toReversed().map((name) => [name.slice(name.lastIndexOf('.') + 1), name]))
  const other = suggestNear(last, lastNames.keys())
  return other === undefined ? undefined : lastNames.get(other)
}
