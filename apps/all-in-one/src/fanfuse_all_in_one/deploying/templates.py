"""The manifests of one pool of workers as text, for the comments in them. In: names from contracts, checked before."""

from string import Template
from typing import Final

WORKER: Final = Template("""\
# Pool $pool, backends: $backends. Made by `fanfuse deploy workers`: change fanfuse.yaml and make it again.
apiVersion: v1
kind: ServiceAccount
metadata:
  name: $name
automountServiceAccountToken: false
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: $name
spec:
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {app.kubernetes.io/name: $name}
---
# Beside what every service may reach: the servers of these backends.
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: $name
spec:
  podSelector:
    matchLabels: {app.kubernetes.io/name: $name}
  policyTypes: [Egress]
  egress:
$egress---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: $name
  labels:
    app.kubernetes.io/name: $name
    app.kubernetes.io/part-of: fanfuse
    fanfuse.dev/process: service
    fanfuse.dev/engines: speaks
spec:
${replicas}  selector:
    matchLabels: {app.kubernetes.io/name: $name}
  template:
    metadata:
      labels: {app.kubernetes.io/name: $name, app.kubernetes.io/part-of: fanfuse, fanfuse.dev/process: service}
    spec:
      serviceAccountName: $name
      containers:
        - name: service
          image: $image
          env:
            - {name: FANFUSE_NATS_USER, value: $user}
            - {name: FANFUSE_WORKER_POOLS, value: $pool}
            # The job `setup` creates the consumer of this pool.
            - {name: FANFUSE_CREATES, value: nothing}
      volumes:
        - name: nats-user
          secret: {secretName: nats-$name, optional: true}
""")

SCALER: Final = Template("""\
# Scales on what waits and what is in hand (num_pending + num_ack_pending) of exactly this consumer. Needs KEDA 2.20 or
# later: an older one takes a missing consumer for a full stream and scales to the maximum.
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: $name
spec:
  scaleTargetRef: {name: $name}
  # From zero a query would wait for a whole poll and a cold start, longer than its budget.
  minReplicaCount: $least
  maxReplicaCount: $most
  pollingInterval: 5
  # Longer than the longest command, where the least is zero.
  cooldownPeriod: 300
  # The broker's monitoring does not answer: stay with what runs.
  fallback: {failureThreshold: 3, replicas: $fallback, behavior: currentReplicasIfHigher}
  advanced:
    horizontalPodAutoscalerConfig:
      behavior:
        # Queries have seconds: double at once, and give back slowly, for a burst seldom comes alone.
        scaleUp:
          stabilizationWindowSeconds: 0
          policies: [{type: Percent, value: 100, periodSeconds: 15}]
        scaleDown:
          stabilizationWindowSeconds: 300
          policies: [{type: Pods, value: 1, periodSeconds: 60}]
  triggers:
    - type: nats-jetstream
      metadata:
        natsServerMonitoringEndpoint: $endpoint
        account: $account
        stream: $stream
        consumer: $consumer
        # Half of what one replica handles at a time.
        lagThreshold: "$lag"
""")
