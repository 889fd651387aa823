using System.Text.Json.Nodes;
using ProtoRpc.Tests.Schema;

namespace ProtoRpc.Tests.Endpoints;

public sealed class RpcEndpointRegistryTests : IDisposable
{
    private readonly TempFolder _folder = new();

    private string FilePath => Path.Combine(_folder.Path, "new", "endpoints.json");

    private RpcEndpointRegistry Registry => new(FilePath);

    public void Dispose() => _folder.Dispose();

    [Fact]
    public void EverythingOfAnEndpointComesBack()
    {
        RpcNamedEndpoint shop = Full("shop");
        Registry.Register(shop);
        RpcNamedEndpoint read = Assert.Single(Registry.Read());
        foreach (System.Reflection.PropertyInfo property in typeof(RpcNamedEndpoint).GetProperties())
        {
            Assert.True(
                property.GetValue(shop) is not (null or false or 0), $"{property.Name} is not tested");
            Assert.Equal(property.GetValue(shop), property.GetValue(read));
        }
    }

    [Fact]
    public void AFileThatIsNotThereHasNoEndpoints()
    {
        Assert.Empty(Registry.Read());
        Assert.False(Registry.Unregister("shop"));
        Assert.False(File.Exists(FilePath));
    }

    [Fact]
    public void NamesAreFoundByPatternAndTagWithoutRegardToCase()
    {
        Registry.Register(new("web-2", RpcEndpoint.Local("b")) { Tag = ["north"] });
        Registry.Register(new("web-1", RpcEndpoint.Local("a")) { Tag = ["south", "test"] });
        Registry.Register(new("shop", RpcEndpoint.Local("c")));
        Assert.Equal(["web-1", "web-2"], Registry.Find("WEB-*").Select(e => e.Name));
        Assert.Equal(["web-1"], Registry.Find("web-?", "SOUTH").Select(e => e.Name));
        Assert.Equal(["shop"], Registry.Find("Shop").Select(e => e.Name));
        Assert.Equal(["shop", "web-1", "web-2"], Registry.Find("*").Select(e => e.Name));
        Assert.Empty(Registry.Find("*", "west"));
    }

    [Fact]
    public void ANameIsTakenOnce()
    {
        Registry.Register(new("shop", RpcEndpoint.Local("a")));
        RpcException error = Assert.Throws<RpcException>(
            () => Registry.Register(new("SHOP", RpcEndpoint.Local("b"))));
        Assert.Equal(RpcErrorIds.EndpointNameTaken, error.ErrorId);
        Assert.Equal(RpcStatusCode.AlreadyExists, error.Code);
        Registry.Register(new("SHOP", RpcEndpoint.Local("b")), replace: true);
        Assert.Equal("b", Assert.Single(Registry.Read()).Endpoint.Name);
    }

    [Fact]
    public void ARemovedEndpointIsGone()
    {
        Registry.Register(new("shop", RpcEndpoint.Local("a")));
        Assert.True(Registry.Unregister("Shop"));
        Assert.False(Registry.Unregister("shop"));
        Assert.Empty(Registry.Read());
    }

    [Fact]
    public void WhatIsNotKnownIsKept()
    {
        Write("""
            { "version": 1, "colour": [1, {"a": null}],
              "endpoints": { "shop": { "endpoint": "grpc://a:1", "owner": { "name": "Ann" } },
                             "other": { "endpoint": "grpc://b:1", "note": "x" } } }
            """);
        Registry.Register(new("shop", RpcEndpoint.Parse("grpc://c:2")), replace: true);
        Registry.Register(new("third", RpcEndpoint.Local("t")));
        JsonNode root = JsonNode.Parse(File.ReadAllText(FilePath))!;
        Assert.Equal("[1,{\"a\":null}]", root["colour"]!.ToJsonString());
        Assert.Equal("Ann", (string?)root["endpoints"]!["shop"]!["owner"]!["name"]);
        Assert.Equal("grpc://c:2", (string?)root["endpoints"]!["shop"]!["endpoint"]);
        Assert.Equal("x", (string?)root["endpoints"]!["other"]!["note"]);
    }

    [Theory]
    [InlineData("", "is empty")]
    [InlineData("grpc://host:1", "looks like an endpoint")]
    [InlineData("ncalrpc:[x]", "looks like an endpoint")]
    [InlineData("a/b", "looks like an endpoint")]
    [InlineData("-a", "starts with a letter")]
    [InlineData("a b", "ASCII letters")]
    [InlineData("web-*", "ASCII letters")]
    [InlineData("m\u00fcll", "ASCII letters")]
    [InlineData("a\u001b[2J", "looks like an endpoint")]
    [InlineData("a\u202eb", "ASCII letters")]
    public void ANameThatIsNoneIsRefused(string name, string why)
    {
        RpcException error = Assert.Throws<RpcException>(
            () => new RpcNamedEndpoint(name, RpcEndpoint.Local("a")));
        Assert.Equal(RpcErrorIds.InvalidEndpointName, error.ErrorId);
        Assert.Contains(why, error.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\u001b', error.Message);
    }

    [Fact]
    public void ALongNameIsRefused() =>
        Assert.Throws<RpcException>(() => new RpcNamedEndpoint(new string('a', 65), RpcEndpoint.Local("a")));

    [Theory]
    [InlineData("hunter2")]
    [InlineData("secret:")]
    [InlineData("secret:a/b/c")]
    [InlineData("env:")]
    [InlineData("env:A=B")]
    [InlineData("secret:*")]
    public void APlainSecretIsRefusedAndNotRepeated(string secret)
    {
        RpcNamedEndpoint shop = new("shop", RpcEndpoint.Local("a")) { Token = secret };
        RpcException error = Assert.Throws<RpcException>(() => Registry.Register(shop));
        Assert.Equal(RpcErrorIds.PlainSecret, error.ErrorId);
        Assert.DoesNotContain("hunter2", error.Message, StringComparison.Ordinal);
        Assert.False(File.Exists(FilePath));
    }

    [Fact]
    public void APlainSecretInTheFileIsRefusedAndNotRepeated()
    {
        Write(WithEntry("""{ "endpoint": "grpc://a:1", "token": "hunter2" }""", "shop"));
        RpcException error = Assert.Throws<RpcException>(() => Registry.Read());
        Assert.Equal(RpcErrorIds.InvalidEndpointFile, error.ErrorId);
        Assert.Contains("'shop'", error.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("hunter2", error.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public void APasswordOfAVariableNeedsAUserName()
    {
        RpcNamedEndpoint shop = new("shop", RpcEndpoint.Local("a")) { Credential = "env:PASSWORD" };
        Assert.Throws<RpcException>(() => Registry.Register(shop));
        Registry.Register(shop with { UserName = "ann" });
    }

    [Theory]
    [InlineData("", "line 1")]
    [InlineData("nonsense", "line 1, column 2")]
    [InlineData("{ \"version\": 1,\n  \"endpoints\": { \"a\": } }", "line 2, column 23")]
    [InlineData("[]", "not a JSON object")]
    [InlineData("{}", "'version'")]
    [InlineData("{ \"version\": 2, \"endpoints\": {} }", "Update ProtoRpc")]
    [InlineData("{ \"version\": \"1\", \"endpoints\": {} }", "'version'")]
    [InlineData("{ \"version\": 1 }", "'endpoints'")]
    [InlineData("{ \"version\": 1, \"endpoints\": [] }", "'endpoints'")]
    [InlineData("{ \"version\": 1, \"version\": 1, \"endpoints\": {} }", "version")]
    public void ADamagedFileIsAnErrorThatSaysWhere(string text, string where)
    {
        Write(text);
        RpcException error = Assert.Throws<RpcException>(() => Registry.Read());
        Assert.Equal(RpcErrorIds.InvalidEndpointFile, error.ErrorId);
        Assert.Contains(where, error.Message, StringComparison.Ordinal);
        Assert.Contains(FilePath, error.Message, StringComparison.Ordinal);
        Assert.Throws<RpcException>(() => Registry.Register(new("b", RpcEndpoint.Local("b"))));
        Assert.Equal(text, File.ReadAllText(FilePath));
    }

    [Theory]
    [InlineData("null", "'a': it is not an object")]
    [InlineData("{}", "'a': 'endpoint' is missing")]
    [InlineData("""{ "endpoint": 7 }""", "'endpoint' is not a string")]
    [InlineData("""{ "endpoint": "x" }""", "is not an endpoint")]
    [InlineData("""{ "endpoint": "grpc://a:1" }""", "cannot be the name", "a b")]
    [InlineData("""{ "endpoint": "grpc://a:1", "tags": [1] }""", "'tags' is not a list")]
    [InlineData("""{ "endpoint": "grpc://a:1", "tls": "yes" }""", "'tls' is not a bool")]
    [InlineData("""{ "endpoint": "grpc://a:1", "mechanism": "7" }""", "'mechanism'")]
    [InlineData("""{ "endpoint": "grpc://a:1", "interfaceId": "7" }""", "'a'")]
    [InlineData("""{ "endpoint": "grpc://a:1", "retryCount": -1 }""", "'retryCount'")]
    [InlineData("""{ "endpoint": "grpc://a:1", "retryCount": 101 }""", "'retryCount'")]
    [InlineData("""{ "endpoint": "grpc://a:1", "retry": 3 }""", "'retry' is not an object")]
    [InlineData("""{ "endpoint": "grpc://a:1", "retry": { "cont": 3 } }""", "'retry' has no setting 'cont'")]
    [InlineData("""{ "endpoint": "grpc://a:1", "retry": { "count": "x" } }""", "'count' of 'retry'")]
    [InlineData("""{ "endpoint": "grpc://a:1", "retry": { "maxPause": 1e300 } }""", "'maxPause' of 'retry'")]
    [InlineData(
        """{ "endpoint": "grpc://a:1", "retry": { "statusCodes": ["OK"] } }""", "'statusCodes' of 'retry'")]
    [InlineData("""{ "endpoint": "grpc://a:1", "retry": { "jitter": 2 } }""", "RpcRetryPolicy.Jitter is 2")]
    [InlineData("""{ "endpoint": "grpc://a:1", "format": "Nope" }""", "not a format")]
    [InlineData("""{ "endpoint": "grpc://a:1", "format": "GrpcWebText" }""", "only to grpcweb://")]
    [InlineData("""{ "endpoint": "grpc://a:1" }, "A": { "endpoint": "grpc://a:1" }""", "twice")]
    public void AWrongEntryIsAnErrorThatSaysWhere(string entry, string where, string name = "a") =>
        ADamagedFileIsAnErrorThatSaysWhere(WithEntry(entry, name), where);

    [Fact]
    public void ARetryPolicyIsKeptWithAllItsSettings()
    {
        RpcRetryPolicy policy = new()
        {
            Count = 5,
            StatusCodes = [RpcStatusCode.Unavailable, RpcStatusCode.ResourceExhausted],
            Idempotent = true,
            InitialPause = TimeSpan.FromSeconds(0.25),
            MaxPause = TimeSpan.FromSeconds(7),
            Multiplier = 1.5,
            Jitter = 0.1,
            MaxServerPause = TimeSpan.FromSeconds(90),
            MaxTokens = 10,
            TokenRatio = 0.5,
        };
        Registry.Register(new("shop", RpcEndpoint.Tcp("host", 8080)) { Retry = policy });

        Assert.Equal(policy, Registry.Read()[0].Retry);
        Assert.Contains("\"statusCodes\"", File.ReadAllText(FilePath), StringComparison.Ordinal);
    }

    [Fact]
    public void ANumberOfRetriesAloneIsWrittenAsNumber()
    {
        Registry.Register(new("shop", RpcEndpoint.Tcp("host", 8080)) { Retry = new() { Count = 4 } });
        string text = File.ReadAllText(FilePath);

        Assert.Contains("\"retryCount\": 4", text, StringComparison.Ordinal);
        Assert.DoesNotContain("\"retry\"", text, StringComparison.Ordinal);
        Assert.Equal(new RpcRetryPolicy { Count = 4 }, Registry.Read()[0].Retry);
    }

    [Fact]
    public void AFileCutAnywhereIsAnErrorOrEmpty()
    {
        Registry.Register(Full("shop"));
        byte[] whole = File.ReadAllBytes(FilePath);
        for (int length = 0; length < whole.Length - 2; length += 7)
        {
            File.WriteAllBytes(FilePath, whole[..length]);
            Assert.Equal(
                RpcErrorIds.InvalidEndpointFile, Assert.Throws<RpcException>(() => Registry.Read()).ErrorId);
        }
    }

    [Fact]
    public void AHugeOrDeepFileIsRefused()
    {
        Write(new string(' ', (4 * 1024 * 1024) + 1));
        Assert.Contains("bytes", Assert.Throws<RpcException>(() => Registry.Read()).Message,
            StringComparison.Ordinal);
        Write(new string('[', 100_000));
        Assert.Throws<RpcException>(() => Registry.Read());
    }

    [Fact]
    public void AMarkOfWindowsEditorsIsLeftAside()
    {
        Directory.CreateDirectory(Path.GetDirectoryName(FilePath)!);
        File.WriteAllText(
            FilePath, """{ "version": 1, "endpoints": {} }""", new System.Text.UTF8Encoding(true));
        Close(FilePath);
        Assert.Empty(Registry.Read());
    }

    [Fact]
    public async Task ManyWritersLoseNothing()
    {
        await Task.WhenAll(Enumerable.Range(0, 24).Select(i => Task.Run(
            () => new RpcEndpointRegistry(FilePath).Register(new($"e{i}", RpcEndpoint.Local("a"))))));
        Assert.Equal(24, Registry.Read().Count);
        Assert.Empty(Directory.GetFiles(Path.GetDirectoryName(FilePath)!, "*.tmp"));
    }

    [Fact]
    public async Task AReaderNeverSeesHalfAFile()
    {
        Registry.Register(Full("shop"));
        using CancellationTokenSource done = new();
        Task<int> reading = Task.Run(() =>
        {
            int count = 0;
            while (!done.IsCancellationRequested)
            {
                Assert.NotEmpty(Registry.Read());
                count++;
            }

            return count;
        });
        for (int i = 0; i < 30; i++)
        {
            Registry.Register(Full("shop"), replace: true);
        }

        await done.CancelAsync();
        Assert.True(await reading >= 0);
    }

    private static string WithEntry(string entry, string name) =>
        $$"""{ "version": 1, "endpoints": { "{{name}}": {{entry}} } }""";

    private static RpcNamedEndpoint Full(string name) => new(name, RpcEndpoint.Tcp("host", 8080))
    {
        Schema = ["/a/b.proto", "/c"],
        Service = "shop.Orders",
        InterfaceId = Guid.NewGuid(),
        Tag = ["north", "two words"],
        Authentication = RpcClientAuthentication.User,
        UserName = "CORP\\ann",
        Credential = "secret:vault/shop",
        Token = "env:SHOP_TOKEN",
        Mechanism = RpcMechanism.Kerberos,
        ProtectionLevel = RpcProtectionLevel.Integrity,
        ServicePrincipalName = "host/shop",
        ServerUser = "shop",
        Tls = true,
        CACertificate = ["/etc/ca.pem"],
        ClientCertificate = "/home/ann/me.pem",
        ServerName = "shop.example.com",
        Format = "Json",
        Compression = RpcCompression.Gzip,
        Retry = new() { Count = 3 },
        HttpGet = true,
    };

    private static void Close(string file)
    {
        if (!OperatingSystem.IsWindows())
        {
            File.SetUnixFileMode(file, UnixFileMode.UserRead | UnixFileMode.UserWrite);
        }
    }

    private void Write(string text)
    {
        Directory.CreateDirectory(Path.GetDirectoryName(FilePath)!);
        File.WriteAllText(FilePath, text);
        Close(FilePath);
    }
}
