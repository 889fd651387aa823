namespace ProtoRpc.Endpoints;

/// <summary>Where a secret is, which itself is never kept in a file.</summary>
/// <param name="IsVariable">Whether it is an environment variable; otherwise a secret of
/// SecretManagement.</param>
/// <param name="Vault">The vault of the secret; null for the default one.</param>
/// <param name="Name">The name of the variable or the secret.</param>
internal sealed record SecretReference(bool IsVariable, string? Vault, string Name)
{
    /// <summary>What a reference looks like.</summary>
    public const string Forms = "'secret:NAME' or 'secret:VAULT/NAME' (SecretManagement), or 'env:VARIABLE'";

    private const string Secret = "secret:";
    private const string Variable = "env:";

    /// <summary>Reads a reference.</summary>
    /// <param name="text">The reference.</param>
    /// <param name="what">What it is for, for the error.</param>
    /// <exception cref="RpcException">InvalidArgument: it is none. The error does not show the text, which
    /// may be a secret.</exception>
    public static SecretReference Parse(string text, string what)
    {
        if (text.StartsWith(Variable, StringComparison.OrdinalIgnoreCase)
            && IsName(text[Variable.Length..], "=/"))
        {
            return new(true, null, text[Variable.Length..]);
        }

        string[] parts = text.StartsWith(Secret, StringComparison.OrdinalIgnoreCase)
            ? text[Secret.Length..].Split('/')
            : [];
        return parts.Length is 1 or 2 && parts.All(part => IsName(part, "*?"))
            ? new(false, parts.Length == 2 ? parts[0] : null, parts[^1])
            : throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"{what} is not the reference of a secret. Secrets are never written to the file: "
                + $"write {Forms}.")
            {
                ErrorId = RpcErrorIds.PlainSecret,
            };
    }

    /// <summary>The value of the environment variable.</summary>
    /// <exception cref="RpcException">FailedPrecondition: it is not set.</exception>
    public string ReadVariable() => Environment.GetEnvironmentVariable(Name) is { Length: > 0 } value
        ? value
        : throw NotFound($"the environment variable '{Name}' is not set");

    /// <summary>The failure of a reference that leads to nothing.</summary>
    public RpcException NotFound(string why, Exception? cause = null) => new(
        RpcStatusCode.FailedPrecondition, $"The secret '{this}' cannot be read: {why}.", cause)
    {
        ErrorId = RpcErrorIds.SecretNotFound,
    };

    /// <inheritdoc/>
    public override string ToString() =>
        IsVariable ? $"{Variable}{Name}" : $"{Secret}{(Vault is null ? "" : $"{Vault}/")}{Name}";

    private static bool IsName(string text, string forbidden) => text.Length is > 0 and <= 256
        && !text.Any(c => char.IsControl(c) || forbidden.Contains(c, StringComparison.Ordinal));
}
