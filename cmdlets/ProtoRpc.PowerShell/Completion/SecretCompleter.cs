using System.Collections;

namespace ProtoRpc.PowerShell.Completion;

/// <summary>Offers references of secrets in environment variables. Their values are never read.</summary>
internal sealed class SecretCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => Environment
        .GetEnvironmentVariables().Keys.Cast<string>()
        .Order(StringComparer.OrdinalIgnoreCase)
        .Select(name => new Candidate($"env:{name}", $"The environment variable {name}"));
}
