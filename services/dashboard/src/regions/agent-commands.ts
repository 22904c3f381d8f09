/** Commands that start an agent, by where it runs. Those for Kubernetes and Node.js run in a clone of the repository. */
export function agentCommands(origin: string, token: string): Readonly<Record<string, string>> {
  return {
    Docker: `docker run --detach --restart unless-stopped --read-only \\
  -e TOCSIN_URL=${origin} \\
  -e AGENT_TOKEN=${token} \\
  localhost/tocsin/agent:local`,
    Kubernetes: `kubectl create secret generic tocsin-agent \\
  --from-literal=AGENT_TOKEN=${token}
helm install tocsin-agent infra/helm/tocsin --values infra/examples/agent/values.yaml \\
  --set image.registry=registry.example.com,agent.url=${origin}`,
    'Node.js': `TOCSIN_URL=${origin} \\
  AGENT_TOKEN=${token} \\
  node services/agent/dist/main.js`,
  };
}
