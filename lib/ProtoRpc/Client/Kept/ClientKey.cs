using System.Net;
using System.Runtime.CompilerServices;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Security.Principal;
using System.Text;

namespace ProtoRpc.Client.Kept;

/// <summary>Identifies a client by its endpoint, schema, identity and options.</summary>
/// <remarks>The key is a hash with a random secret of the process, so the credentials in it cannot be read or
/// guessed. Users with the same name but different passwords have different keys.</remarks>
internal sealed class ClientKey : IEquatable<ClientKey>
{
    private static readonly byte[] Secret = RandomNumberGenerator.GetBytes(SHA256.HashSizeInBytes);
    private static readonly ConditionalWeakTable<object, object> Names = [];

    private readonly byte[] _digest;

    private ClientKey(byte[] digest) => _digest = digest;

    /// <summary>Creates the key of a client.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="schema">The client's schema, compared by reference; null for none.</param>
    /// <param name="options">The client's options; <see cref="RpcClientOptions.LoggerFactory"/> and <see
    /// cref="RpcClientOptions.Trace"/> do not count.</param>
    /// <param name="impersonated">The account that the current thread impersonates; null for none.</param>
    public static ClientKey Of(
        RpcEndpoint endpoint, RpcSchema? schema, RpcClientOptions options, string? impersonated)
    {
        using IncrementalHash hash = IncrementalHash.CreateHMAC(HashAlgorithmName.SHA256, Secret);
        Parts parts = new(hash);
        parts.Add(endpoint.ToString());
        parts.Add(NameOf(schema));
        parts.Add(impersonated);
        Add(parts, options.Security);
        Add(parts, options.Tls);
        foreach ((string name, object value) in options.Headers)
        {
            parts.Add(name);
            parts.Add(value as byte[] ?? Encoding.UTF8.GetBytes((string)value));
        }

        parts.Add(options.Headers.Count);
        foreach (IRpcClientInterceptor interceptor in options.Interceptors)
        {
            parts.Add(NameOf(interceptor));
        }

        parts.Add(NameOf(options.HttpHandler));
        parts.Add(NameOf(options.Proxy));
        parts.Add(options.UseTls);
        parts.Add(options.Compression);
        parts.Add(options.ReplyCompression);
        parts.Add(options.KeepAlive);
        parts.Add(options.Lazy);
        parts.Add(options.RetryCount);
        parts.Add(options.Format.Name);
        parts.Add(options.Service);
        parts.Add(options.InterfaceId);
        parts.Add(options.ExceptionTypes);
        parts.Add(options.MultiPartThreshold);
        // Limits are a record, whose text contains all members.
        parts.Add(options.Limits.ToString());
        return new ClientKey(hash.GetHashAndReset());
    }

    /// <summary>Creates the key of a client of the current thread, which connects as the account that the
    /// thread impersonates.</summary>
    /// <inheritdoc cref="Of(RpcEndpoint, RpcSchema?, RpcClientOptions, string?)"/>
    public static ClientKey Of(RpcEndpoint endpoint, RpcSchema? schema, RpcClientOptions options) =>
        Of(endpoint, schema, options, ImpersonatedAccount());

    /// <inheritdoc/>
    public bool Equals(ClientKey? other) =>
        other is not null && CryptographicOperations.FixedTimeEquals(_digest, other._digest);

    /// <inheritdoc/>
    public override bool Equals(object? obj) => Equals(obj as ClientKey);

    /// <inheritdoc/>
    public override int GetHashCode() => BitConverter.ToInt32(_digest);

    private static string? ImpersonatedAccount()
    {
        if (!OperatingSystem.IsWindows())
        {
            return null;
        }

        using WindowsIdentity? account = WindowsIdentity.GetCurrent(ifImpersonating: true);
        return account?.User?.Value;
    }

    private static void Add(Parts parts, RpcClientSecurity security)
    {
        parts.Add(security.Authentication);
        parts.Add(security.Mechanism);
        parts.Add(security.ProtectionLevel);
        parts.Add(security.ServicePrincipalName);
        parts.Add(security.ServerUser);
        parts.Add(security.Token);
        NetworkCredential? credential = security.Credential;
        parts.Add(credential?.Domain);
        parts.Add(credential?.UserName);
        parts.Add(credential?.Password);
    }

    private static void Add(Parts parts, RpcTlsOptions tls)
    {
        parts.Add(tls.ServerName);
        parts.Add(tls.SkipCertificateCheck);
        parts.Add(tls.ClientCertificate?.RawData);
        parts.Add(tls.ClientCertificate?.HasPrivateKey);
        parts.Add(tls.CaCertificates?.Count);
        foreach (X509Certificate2 authority in tls.CaCertificates ?? [])
        {
            parts.Add(authority.RawData);
        }
    }

    // A number that identifies the object. Unlike an address, it is never used again.
    private static object? NameOf(object? item) =>
        item is null ? null : Names.GetValue(item, static _ => Guid.NewGuid());

    // Each part is preceded by its length, so that different lists of parts have different bytes.
    private readonly struct Parts(IncrementalHash hash)
    {
        public void Add(object? value) =>
            Add(value is null
                ? null
                : Encoding.UTF8.GetBytes(FormattableString.Invariant($"{value}")));

        public void Add(byte[]? bytes)
        {
            hash.AppendData(BitConverter.GetBytes(bytes?.Length ?? -1));
            hash.AppendData(bytes ?? []);
        }
    }
}
