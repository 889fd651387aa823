namespace ProtoRpc.Http.Tests.Tool;

/// <summary>A program that handles calls, as a script of the shell in a folder of its own.</summary>
internal sealed class HandlerScript : IDisposable
{
    private const UnixFileMode Mode =
        UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute;

    public HandlerScript(string text)
    {
        Folder = Directory.CreateTempSubdirectory("protorpc-exec-").FullName;
        Path = System.IO.Path.Combine(Folder, "handler");
        File.WriteAllText(Path, $"#!/bin/sh\n{text}\n");
        if (!OperatingSystem.IsWindows())
        {
            File.SetUnixFileMode(Path, Mode);
        }
    }

    public string Folder { get; }

    public string Path { get; }

    /// <summary>The text of a file that the script writes, as soon as it has a whole line.</summary>
    public async Task<string> ReadAsync(string name)
    {
        string path = System.IO.Path.Combine(Folder, name);
        DateTime end = DateTime.UtcNow.AddSeconds(30);
        while (!File.Exists(path) || !File.ReadAllText(path).EndsWith('\n'))
        {
            Assert.True(DateTime.UtcNow < end, $"The handler wrote no {name}.");
            await Task.Delay(10);
        }

        return await File.ReadAllTextAsync(path);
    }

    /// <summary>Waits until a process has ended, whose id the script wrote.</summary>
    public async Task RequireEndedAsync(string name)
    {
        string id = (await ReadAsync(name)).Trim();
        DateTime end = DateTime.UtcNow.AddSeconds(30);
        while (IsRunning(id))
        {
            Assert.True(DateTime.UtcNow < end, $"The process {id} of {name} still runs.");
            await Task.Delay(10);
        }
    }

    public void Dispose() => Directory.Delete(Folder, recursive: true);

    // One that has ended, and whose parent has not asked how, is a zombie.
    private static bool IsRunning(string id)
    {
        try
        {
            string state = File.ReadAllText($"/proc/{id}/stat").Split(')')[^1];
            return !state.StartsWith(" Z", StringComparison.Ordinal);
        }
        catch (IOException)
        {
            return false;
        }
    }
}
