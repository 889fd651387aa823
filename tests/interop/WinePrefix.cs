namespace ProtoRpc.Interop;

/// <summary>A Windows of Wine's, in a folder of its own; made when the first program is started.</summary>
public sealed class WinePrefix : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("prefix");
    private bool _isUsed;

    /// <summary>What Wine and .NET under it need: as in the suite of unit tests under Wine.</summary>
    private Dictionary<string, string?> Variables => new()
    {
        ["WINEDEBUG"] = "-all",
        ["WINEPREFIX"] = _folder.FullName,
        ["DISPLAY"] = "",
        ["DOTNET_EnableWriteXorExecute"] = "0",
        ["DOTNET_EnableAVX512"] = "0",
    };

    public void Dispose()
    {
        if (_isUsed)
        {
            // Wine's processes are not children of the one that was started. This waits until all have ended,
            // and the registry is written into the folder.
            using PeerProcess kill = PeerProcess.Start("wineserver", Variables, ["-k"]);
            kill.WaitForExit();
        }

        _folder.Delete(recursive: true);
    }

    internal PeerProcess Start(string program, params string[] arguments)
    {
        _isUsed = true;
        return PeerProcess.Start("wine", Variables, [program, .. arguments]);
    }
}
