using ProtoRpc.Tests.Schema;

namespace ProtoRpc.Tests.Endpoints;

public sealed class EndpointFileSafetyTests : IDisposable
{
    private const UnixFileMode Owner = UnixFileMode.UserRead | UnixFileMode.UserWrite;
    private const UnixFileMode OwnerFolder = Owner | UnixFileMode.UserExecute;

    private readonly TempFolder _folder = new();

    private string FilePath => Path.Combine(_folder.Path, "new", "endpoints.json");

    private RpcEndpointRegistry Registry => new(FilePath);

    public void Dispose() => _folder.Dispose();

    [Fact]
    public void TheFileIsForItsOwnerAlone()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        Register("shop");
        Assert.Equal(Owner, File.GetUnixFileMode(FilePath));
        Assert.Equal(OwnerFolder, File.GetUnixFileMode(Path.GetDirectoryName(FilePath)!));
        Assert.Equal(Owner, File.GetUnixFileMode($"{FilePath}.lock"));
    }

    [Theory]
    [InlineData(UnixFileMode.GroupWrite)]
    [InlineData(UnixFileMode.OtherWrite)]
    public void AFileThatOthersCanWriteIsRefused(UnixFileMode mode)
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        Register("shop");
        File.SetUnixFileMode(FilePath, Owner | mode);
        RpcException error = Assert.Throws<RpcException>(() => Registry.Read());
        Assert.Equal(RpcErrorIds.EndpointFileNotSafe, error.ErrorId);
        Assert.Equal(RpcStatusCode.PermissionDenied, error.Code);
        Assert.Contains("chmod", error.Message, StringComparison.Ordinal);
        // Writing would make it look safe, with what others wrote in it.
        Assert.Throws<RpcException>(() => Register("other"));
        Assert.Equal(Owner | mode, File.GetUnixFileMode(FilePath));
    }

    [Fact]
    public void AFileThatOthersCanOnlyReadIsFine()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        Register("shop");
        File.SetUnixFileMode(FilePath, Owner | UnixFileMode.GroupRead | UnixFileMode.OtherRead);
        Assert.Single(Registry.Read());
    }

    [Fact]
    public void AFolderThatOthersCanWriteIsRefused()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        Register("shop");
        File.SetUnixFileMode(Path.GetDirectoryName(FilePath)!, OwnerFolder | UnixFileMode.OtherWrite);
        Assert.Equal(
            RpcErrorIds.EndpointFileNotSafe, Assert.Throws<RpcException>(() => Registry.Read()).ErrorId);
    }

    [Fact]
    public void ALinkStaysALink()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        Register("shop");
        string link = Path.Combine(_folder.Path, "link.json");
        File.CreateSymbolicLink(link, FilePath);
        new RpcEndpointRegistry(link).Register(new("other", RpcEndpoint.Local("b")));
        Assert.NotNull(new FileInfo(link).LinkTarget);
        Assert.Equal(2, Registry.Read().Count);
    }

    [Fact]
    public void AFolderInThePlaceOfTheFileIsAnError()
    {
        Directory.CreateDirectory(FilePath);
        Assert.Throws<RpcException>(() => Registry.Read());
        Assert.Throws<RpcException>(() => Register("shop"));
    }

    private void Register(string name) => Registry.Register(new(name, RpcEndpoint.Local("a")));
}
