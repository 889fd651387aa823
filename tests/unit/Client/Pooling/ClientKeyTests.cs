using System.Net;
using System.Reflection;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Google.Protobuf;
using Microsoft.Extensions.Logging.Abstractions;
using ProtoRpc.Client;

namespace ProtoRpc.Tests.Client.Pooling;

public sealed class ClientKeyTests
{
    private static readonly RpcEndpoint Endpoint = RpcEndpoint.Tcp("host", 1);

    [Fact]
    public void EqualOptionsHaveTheSameKey()
    {
        Assert.Equal(KeyOf(Full()), KeyOf(Full()));
        Assert.Equal(KeyOf(Full()).GetHashCode(), KeyOf(Full()).GetHashCode());
        Assert.Equal(
            KeyOf(new()),
            KeyOf(new() { LoggerFactory = NullLoggerFactory.Instance, Trace = RpcTrace.To(_ => { }) }));
    }

    // A member that is added to the options changes the key, or this fails.
    [Fact]
    public void EveryMemberOfTheOptionsCounts()
    {
        Assert.Equal([], Changes().Where(change => KeyOf(new()).Equals(KeyOf(change.Options)))
            .Select(change => change.Member));
    }

    [Fact]
    public void EveryMemberIsTested()
    {
        string[] tested = [.. Changes().Select(change => change.Member)];
        Assert.Equal(
            MembersOf(typeof(RpcClientOptions))
                .Except(["Security", "Tls", "Limits", "LoggerFactory", "Trace"])
                .Concat(MembersOf(typeof(RpcClientSecurity)))
                .Concat(MembersOf(typeof(RpcTlsOptions)))
                .Concat(MembersOf(typeof(RpcLimits)))
                .Order(),
            tested.Select(name => name.Split(' ')[0]).Distinct().Order());
    }

    [Fact]
    public void UsersOfOneNameWithDifferentPasswordsHaveDifferentKeys()
    {
        static RpcClientOptions With(string user, string password, string domain = "") => new()
        {
            Security = new() { Credential = new NetworkCredential(user, password, domain) },
        };
        Assert.Equal(KeyOf(With("ann", "x")), KeyOf(With("ann", "x")));
        Assert.NotEqual(KeyOf(With("ann", "x")), KeyOf(With("ann", "y")));
        Assert.NotEqual(KeyOf(With("ann", "x")), KeyOf(With("ann", "X")));
        Assert.NotEqual(KeyOf(With("ann", "x")), KeyOf(With("ann", "x", "home")));
        // Moving a character from one part to the next changes the key.
        Assert.NotEqual(KeyOf(With("ann", "xy")), KeyOf(With("annx", "y")));
    }

    [Fact]
    public void EndpointAndSchemaCount()
    {
        RpcSchema other = RpcSchema.FromDescriptors(EchoServer.Schema.Files[^1]);
        ClientKey[] keys =
        [
            KeyOf(new()),
            ClientKey.Create(Endpoint, EchoServer.Schema, new()),
            ClientKey.Create(Endpoint, other, new()),
            ClientKey.Create(RpcEndpoint.Tcp("host", 2), null, new()),
            ClientKey.Create(RpcEndpoint.Local("host"), null, new()),
        ];
        Assert.Equal(keys.Length, keys.Distinct().Count());
        Assert.Equal(keys[1], ClientKey.Create(Endpoint, EchoServer.Schema, new()));
    }

    // On Windows, a handler with Impersonate of -ListenerOption connects as its caller.
    [Fact]
    public void TheImpersonatedAccountCounts()
    {
        static ClientKey As(string? account) => ClientKey.Create(Endpoint, null, new(), account);

        Assert.Equal(As("S-1-5-21-1"), As("S-1-5-21-1"));
        Assert.NotEqual(As("S-1-5-21-1"), As("S-1-5-21-2"));
        Assert.NotEqual(As("S-1-5-21-1"), As(null));
        Assert.Equal(KeyOf(new()), As(null));
    }

    [Fact]
    public void NothingOfASecretIsInTheKey()
    {
        ClientKey key = KeyOf(new() { Security = new() { Token = "hunter2" } });
        Assert.DoesNotContain("hunter2", key.ToString(), StringComparison.Ordinal);
        byte[] digest = (byte[])typeof(ClientKey)
            .GetField("_digest", BindingFlags.NonPublic | BindingFlags.Instance)!.GetValue(key)!;
        Assert.Equal(SHA256.HashSizeInBytes, digest.Length);
    }

    private static IEnumerable<(string Member, RpcClientOptions Options)> Changes()
    {
        yield return ("Authentication", Secured(new() { Authentication = RpcClientAuthentication.Self }));
        yield return ("Credential", Secured(new() { Credential = new NetworkCredential("a", "b") }));
        yield return ("Token", Secured(new() { Token = "t" }));
        yield return ("Mechanism", Secured(new() { Mechanism = RpcMechanism.Ntlm }));
        yield return ("ProtectionLevel", Secured(new() { ProtectionLevel = RpcProtectionLevel.Packet }));
        yield return ("ServerUser", Secured(new() { ServerUser = "root" }));
        yield return ("ServicePrincipalName", Secured(new() { ServicePrincipalName = "host/x" }));
        yield return ("CaCertificates", OnTls(new() { CaCertificates = [Certificate()] }));
        yield return ("CaCertificates empty", OnTls(new() { CaCertificates = [] }));
        yield return ("ClientCertificate", OnTls(new() { ClientCertificate = Certificate() }));
        yield return ("ServerName", OnTls(new() { ServerName = "x" }));
        yield return ("SkipCertificateCheck", OnTls(new() { SkipCertificateCheck = true }));
        yield return ("ReplyCompression", new() { ReplyCompression = RpcReplyCompression.Always });
        yield return ("HttpGet", new() { HttpGet = true });
        yield return ("GrpcWebText", new() { GrpcWebText = true });
        yield return ("HttpHandler", new RpcClientOptions { HttpHandler = () => new HttpClientHandler() });
        yield return ("Proxy", new RpcClientOptions { Proxy = new WebProxy("http://proxy:1") });
        yield return ("UseTls", new RpcClientOptions { UseTls = true });
        yield return ("Headers", new RpcClientOptions { Headers = HeadersOf("a", "b") });
        yield return ("Compression", new RpcClientOptions { Compression = RpcCompression.Gzip });
        yield return ("KeepAlive", new RpcClientOptions { KeepAlive = TimeSpan.FromSeconds(1) });
        yield return ("Lazy", new RpcClientOptions { Lazy = true });
        yield return ("RetryCount", new RpcClientOptions { RetryCount = 1 });
        foreach (RpcRetryPolicy policy in RetryPolicies())
        {
            yield return ("Retry", new RpcClientOptions { Retry = policy });
        }

        yield return ("Interceptors", new RpcClientOptions { Interceptors = [new NoInterceptor()] });
        yield return ("HttpHandler", new RpcClientOptions
        {
            HttpHandler = () => throw new NotSupportedException(),
        });
        yield return ("Format", new RpcClientOptions { Format = MessageFormats.Json });
        yield return ("Service", new RpcClientOptions { Service = "" });
        yield return ("InterfaceId", new RpcClientOptions { InterfaceId = Guid.Empty });
        yield return ("ExceptionTypes", new RpcClientOptions { ExceptionTypes = (RpcExceptionTypes)7 });
        foreach (PropertyInfo limit in typeof(RpcLimits).GetProperties().Where(limit => limit.CanWrite))
        {
            RpcLimits limits = new();
            limit.SetValue(limits, limit.GetValue(limits) switch
            {
                int number => number - 1,
                long number => number - 1,
                TimeSpan time => time + TimeSpan.FromTicks(1),
                object other => throw new NotSupportedException($"{limit.Name} is a {other.GetType()}."),
                null => throw new NotSupportedException(limit.Name),
            });
            yield return (limit.Name, new RpcClientOptions { Limits = limits });
        }
    }

    private static IEnumerable<RpcRetryPolicy> RetryPolicies() =>
    [
        new(),
        new() { StatusCodes = [RpcStatusCode.Aborted] },
        new() { Idempotent = true },
        new() { InitialPause = TimeSpan.FromSeconds(1) },
        new() { MaxPause = TimeSpan.FromSeconds(1) },
        new() { Multiplier = 3 },
        new() { Jitter = 0.5 },
        new() { MaxServerPause = TimeSpan.FromSeconds(1) },
        new() { MaxTokens = 1 },
        new() { TokenRatio = 1 },
    ];

    [Fact]
    public void EachSettingOfARetryPolicyCounts() => Assert.Equal(
        RetryPolicies().Count(),
        RetryPolicies().Select(policy => KeyOf(new() { Retry = policy })).Distinct().Count());

    private static ClientKey KeyOf(RpcClientOptions options) => ClientKey.Create(Endpoint, null, options);

    private static RpcClientOptions Full() => new()
    {
        Security = new() { Credential = new NetworkCredential("ann", "secret", "home"), Token = "t" },
        Tls = new() { ServerName = "x", CaCertificates = [] },
        Headers = HeadersOf("a", "b"),
        Service = "s",
    };

    private static RpcClientOptions Secured(RpcClientSecurity security) => new() { Security = security };

    private static RpcClientOptions OnTls(RpcTlsOptions tls) => new() { Tls = tls };

    private static RpcMetadata HeadersOf(string name, string value)
    {
        RpcMetadata headers = new();
        headers.Add(name, value);
        return headers;
    }

    private static X509Certificate2 Certificate() => TestCertificate.Create("CN=x");

    private static IEnumerable<string> MembersOf(Type type) =>
        type.GetProperties(BindingFlags.Public | BindingFlags.Instance)
            .Where(property => property.CanWrite)
            .Select(property => property.Name);

    private sealed class NoInterceptor : IRpcClientInterceptor
    {
        public ValueTask<IMessage> InvokeAsync(
            RpcClientCallContext context, IMessage request, RpcClientHandler next) => next(context, request);

        public ValueTask<RpcClientStream> OpenAsync(
            RpcClientCallContext context, RpcClientStreamHandler next) => next(context);
    }
}
