using ProtoRpc.Schema.Sources.Protoc;

namespace ProtoRpc.Tests.Schema;

public static class WorkFolderTests
{
    [Fact]
    public static void A_folder_is_gone_afterwards_with_all_that_is_in_it()
    {
        string path;
        using (WorkFolder folder = new())
        {
            path = folder.FullName;
            Directory.CreateDirectory(Path.Combine(path, "aliases", "deep"));
            File.WriteAllText(Path.Combine(path, "aliases", "deep", "x.proto"), "");
        }

        Assert.False(Directory.Exists(path));
    }

    [Fact]
    public static void A_missing_folder_for_temporary_files_is_named_with_the_variable_that_sets_it()
    {
        string missing = Path.Combine(Path.GetTempPath(), $"protorpc-none-{Guid.NewGuid():N}");

        RpcException e = Assert.Throws<RpcException>(
            () => new WorkFolder(missing, _ => throw new FileNotFoundException()));

        Assert.Equal(RpcStatusCode.FailedPrecondition, e.Code);
        Assert.Equal("SchemaError", e.ErrorId);
        Assert.Contains($"'{missing}'", e.Message, StringComparison.Ordinal);
        Assert.Contains("the folder does not exist", e.Message, StringComparison.Ordinal);
        Assert.Contains(
            OperatingSystem.IsWindows() ? "Set TEMP " : "Set TMPDIR ", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Why_a_folder_for_temporary_files_cannot_be_written_to_is_told()
    {
        string existing = Path.GetTempPath();

        RpcException e = Assert.Throws<RpcException>(
            () => new WorkFolder(existing, _ => throw new UnauthorizedAccessException("It is denied.")));

        Assert.Contains(
            $"'{existing}', which compiling .proto files needs: It is denied.", e.Message,
            StringComparison.Ordinal);
    }

    [Fact]
    public static void A_folder_that_is_gone_already_is_no_error()
    {
        using WorkFolder folder = new();
        Directory.Delete(folder.FullName);
    }

    [Fact]
    public static void A_file_that_another_program_has_open_for_a_moment_is_tried_again()
    {
        int tries = 0;

        Assert.True(WorkFolder.TryDelete(() =>
        {
            if (++tries < 4)
            {
                throw tries == 1 ? new UnauthorizedAccessException() : new IOException("being used");
            }
        }));

        Assert.Equal(4, tries);
    }

    [Fact]
    public static void A_folder_that_cannot_be_deleted_fails_nothing()
    {
        int tries = 0;

        Assert.False(WorkFolder.TryDelete(() =>
        {
            tries++;
            throw new IOException("being used by another process");
        }));

        Assert.InRange(tries, 2, 20);
    }

    // On other systems than Windows, files that are open can be deleted.
    [Fact]
    public static void A_file_that_stays_open_fails_nothing()
    {
        string path;
        using (WorkFolder folder = new())
        {
            path = Path.Combine(folder.FullName, "out.pb");
            using FileStream open = new(path, FileMode.CreateNew, FileAccess.Write, FileShare.None);
            folder.Dispose();
            Assert.Equal(OperatingSystem.IsWindows(), File.Exists(path));
        }

        Assert.False(File.Exists(path));
    }
}
