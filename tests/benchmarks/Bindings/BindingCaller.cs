using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using ProtoRpc.Benchmarks.Messages;
using ProtoRpc.Benchmarks.Security;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Bindings;

/// <summary>Calls one service over any kind of endpoint, with an empty message of a generated
/// class.</summary>
internal sealed class BindingCaller : ICaller
{
    private readonly RpcClient _client;
    private readonly RpcMethodInfo _method;

    public BindingCaller(string endpoint, BindingKind kind)
    {
        RpcClientOptions options = new()
        {
            Security = CallSecurity.OfClient(kind.Security),
            UseTls = kind.UseTls,
            Format = kind.Format,

            // The server makes its certificate when it starts; what is measured is the encryption.
            Tls = new RpcTlsOptions { SkipCertificateCheck = true },
        };
        _client = RpcClient.Connect(endpoint, SampleData.LoadSchema(), options);
        _method = _client.GetMethod("Test");
    }

    public void Call() => _client.Invoke<SampleResponse>(_method, new SampleRequest());

    public void Dispose() => _client.Dispose();

    /// <summary>The server of these callers.</summary>
    public static RpcServer Serve(BindingKind kind)
    {
        RpcServerOptions options = new()
        {
            Security = CallSecurity.OfServer(kind.Security),
            UseTls = kind.UseTls,
            Certificate = kind.HasTls ? Certificate() : null,
        };
        string name = $"ProtoRpcBench{Environment.ProcessId}";
        string endpoint = kind.Endpoint
            .Replace("/FOLDER/", Path.GetTempPath(), StringComparison.Ordinal)
            .Replace("NAME", name, StringComparison.Ordinal);
        return RpcServer.Create(SampleData.LoadSchema(), options: options.WithHttp())
            .Handle<SampleRequest, SampleResponse>("Test", (_, _) => new SampleResponse())
            .AddEndpoint(endpoint)
            .StartListening();
    }

    private static X509Certificate2 Certificate()
    {
        using ECDsa key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        CertificateRequest request = new("CN=localhost", key, HashAlgorithmName.SHA256);
        return request.CreateSelfSigned(DateTimeOffset.UtcNow.AddHours(-1), DateTimeOffset.UtcNow.AddDays(1));
    }
}
