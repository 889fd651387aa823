using ProtoRpc.Client;
using ProtoRpc.Client.Schemas;
using ProtoRpc.Tests.Schema;

namespace ProtoRpc.Tests.Client.Pooling;

public sealed class SchemaCacheTests : IDisposable
{
    private readonly TempFolder _folder = new();
    private readonly ManualTime _time = new();
    private readonly SchemaCache _kept;
    private int _loads;

    public SchemaCacheTests() => _kept = new SchemaCache(_time);

    public void Dispose() => _folder.Dispose();

    [Fact]
    public void WhatAServerToldIsKeptForSomeTimeAndForOneIdentity()
    {
        RpcEndpoint server = RpcEndpoint.Parse("grpc://host:1");
        RpcSchema Ask(string token) => _kept.Find(
            ["grpc://host:1"],
            [ClientKey.Create(server, null, new() { Security = new() { Token = token } })],
            () =>
            {
                _loads++;
                return RpcSchema.FromDescriptors(EchoServer.Schema.Files[^1]);
            });
        RpcSchema first = Ask("a");
        Assert.Same(first, Ask("a"));
        Assert.NotSame(first, Ask("b"));
        _time.Advance(ClientPool.DefaultIdleTimeout);
        Assert.NotSame(first, Ask("a"));
        Assert.Equal(3, _loads);
    }

    [Fact]
    public void TheSchemaIsTheSameWhileItsFilesAre()
    {
        string file = Write("a.proto", "message A {}");
        Assert.Same(Find(file), Find(file));
        Assert.Equal(1, _loads);
    }

    [Fact]
    public void AChangedFileIsReadAgain()
    {
        string file = Write("a.proto", "message A {}");
        Find(file);
        Write("a.proto", "message B {}", age: TimeSpan.FromMinutes(1));
        Assert.NotNull(Find(file).FindMessage("B"));
    }

    [Fact]
    public void AChangedImportIsReadAgain()
    {
        Write("b.proto", "message B {}");
        string file = Write("a.proto", "import 'b.proto'; message A { B b = 1; }");
        Find(file);
        Write("b.proto", "message B { int32 c = 1; }", age: TimeSpan.FromMinutes(1));
        Assert.Single(Find(file).GetMessage("B").Fields);
    }

    [Fact]
    public void ANewFileInAFolderIsRead()
    {
        Write("a.proto", "message A {}");
        Directory.SetLastWriteTimeUtc(_folder.Path, DateTime.UtcNow.AddHours(-1));
        Find(_folder.Path);
        Assert.Same(Find(_folder.Path), Find(_folder.Path));
        Write("c.proto", "message C {}");
        Assert.NotNull(Find(_folder.Path).FindMessage("C"));
    }

    [Fact]
    public void AFileThatIsGoneIsAnError()
    {
        string file = Write("a.proto", "message A {}");
        Find(file);
        File.Delete(file);
        Assert.Throws<RpcException>(() => Find(file));
    }

    [Fact]
    public void AFileThatWasWrittenJustNowIsReadAgain()
    {
        string file = Write("a.proto", "message A {}", age: TimeSpan.FromSeconds(-10));
        Find(file);
        Find(file);
        Assert.Equal(2, _loads);
    }

    [Fact]
    public void OnlySoManyAreKept()
    {
        string[] files = [.. Enumerable.Range(0, 40).Select(i => Write($"f{i}.proto", $"message M{i} {{}}"))];
        string set = Path.Combine(_folder.Path, "set.pb");
        File.WriteAllBytes(set, RpcSchema.Load([files[0]]).ToDescriptorSet());
        File.SetLastWriteTimeUtc(set, DateTime.UtcNow.AddHours(-1));
        foreach (string file in files)
        {
            _kept.Find([file, set], () => RpcSchema.Load([set]));
        }

        _kept.Find([files[0], set], () => RpcSchema.Load([set], null, Count()));
        Assert.Equal(1, _loads);
        _kept.Find([files[39], set], () => RpcSchema.Load([set], null, Count()));
        Assert.Equal(1, _loads);
    }

    private RpcSchema Find(string path) =>
        _kept.Find([path], () => RpcSchemaLoader.Load(path, new() { BaseFolder = Count() }));

    private string Count()
    {
        _loads++;
        return _folder.Path;
    }

    private string Write(string name, string text, TimeSpan? age = null)
    {
        string file = Path.Combine(_folder.Path, name);
        File.WriteAllText(file, $"syntax = 'proto3'; {text}");
        File.SetLastWriteTimeUtc(file, DateTime.UtcNow - (age ?? TimeSpan.FromHours(1)));
        return file;
    }
}
