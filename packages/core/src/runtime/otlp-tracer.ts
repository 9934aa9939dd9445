import {
  type Context,
  isValidSpanId,
  isValidTraceId,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { withTimeout } from '../kernel/concurrency/with-timeout.ts'
import type { Tracer } from './tracer.ts'

const spanKinds = { server: SpanKind.SERVER, consumer: SpanKind.CONSUMER, client: SpanKind.CLIENT }

/**
 * Sends traces to a collector (OTLP over HTTP, JSON), in batches in the background. `ratio` is the sampling ratio of
 * traces that start in this process; a trace that started elsewhere keeps the decision of its parent.
 */
export function openOtlpTracer(serviceName: string, endpoint: string, ratio: number): Tracer {
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/$/, '')}/v1/traces` })
  const provider = new TracerProvider({
    resource: defaultResource().merge(resourceFromAttributes({ 'service.name': serviceName })),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  })
  const tracer = provider.getTracer('rapport')
  return {
    start(name, { kind, parent, attributes }) {
      const span = tracer.startSpan(name, { kind: spanKinds[kind], attributes }, parseTraceparent(parent))
      const { traceId, spanId, traceFlags } = span.spanContext()
      return {
        traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
        end({ hasFailed, attributes = {} }) {
          span.setAttributes(attributes)
          if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR })
          span.end()
        },
      }
    },
    close: () => withTimeout(provider.shutdown()).catch(() => {}),
  }
}

/** https://www.w3.org/TR/trace-context/ */
function parseTraceparent(parent: string | null | undefined): Context {
  const [, traceId = '', spanId = '', flags = ''] =
    /^00-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})$/.exec(parent ?? '') ?? []
  if (!isValidTraceId(traceId) || !isValidSpanId(spanId)) return ROOT_CONTEXT
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    isRemote: true,
  })
}
