using ProtoRpc.Schema.Sources;
using ProtoRpc.Schema.Sources.Protoc;

namespace ProtoRpc.Tests.Schema;

/// <summary>What protoc compiled, on disk. A load that finds it does not run protoc.</summary>
public sealed class CompiledSchemasTests : IDisposable
{
    private const string Colours = "syntax = \"proto3\";\nenum Colour { RED = 0; }\n";
    private const string Shop =
        "syntax = \"proto3\";\nimport \"colours.proto\";\n// A thing.\nmessage Item { Colour colour = 1; }\n";

    private static readonly string Protoc = ProtocLocator.Find();

    private readonly TempFolder _folder = new();
    private readonly CompiledSchemas _known;

    public CompiledSchemasTests() => _known = KnownAt(LaterClock.Instance);

    private string Cache => Path.Combine(_folder.Path, "cache");

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData("everything_proto2.proto")]
    [InlineData("everything_editions.proto")]
    [InlineData("custom_options.proto")]
    [InlineData("tricky_names.proto")]
    public void All_that_a_load_gives_is_found_again(string name)
    {
        ProtocPlan plan = PlanOf([], Path.Combine(TestProtos.Folder, name));

        AssertSame(Compile(plan), Assert.IsType<SchemaPart>(Find(plan)));
    }

    [Fact]
    public void Warnings_are_found_again()
    {
        _folder.Write("colours.proto", Colours);
        string shop = _folder.Write("shop.proto", Shop.Replace("Colour colour", "int32 colour"));
        string lenient = _folder.Write(
            "lenient.proto",
            "syntax = \"proto3\";\nimport \"gogoproto/gogo.proto\";\noption (gogoproto.fast) = true;\n");
        ProtocPlan plan = PlanOf([], shop, lenient);

        SchemaPart first = Compile(plan);
        SchemaPart again = Assert.IsType<SchemaPart>(Find(plan));

        Assert.Contains("colours.proto is unused", Assert.Single(first.Warnings), StringComparison.Ordinal);
        Assert.Contains(
            "gogoproto/gogo.proto", Assert.Single(first.LeftOutOptions), StringComparison.Ordinal);
        AssertSame(first, again);
    }

    [Fact]
    public void Nothing_is_found_before_something_was_compiled()
    {
        Assert.Null(Find(ShopPlan()));
        Assert.False(Directory.Exists(Cache));
    }

    [Fact]
    public void A_file_of_the_same_length_and_time_is_compared_by_its_content()
    {
        ProtocPlan plan = ShopPlan();
        Compile(plan);

        Rewrite("shop.proto", Shop.Replace("Item", "Good"));
        Assert.Null(Find(plan));

        Rewrite("shop.proto", Shop);
        Assert.NotNull(Find(plan));
    }

    [Fact]
    public void An_imported_file_is_compared_too()
    {
        ProtocPlan plan = ShopPlan();
        Compile(plan);

        Rewrite("colours.proto", Colours.Replace("RED", "LED"));

        Assert.Null(Find(plan));
        Assert.Contains(
            Compile(plan).Files, file => file.Proto.ToString().Contains("LED", StringComparison.Ordinal));
        Assert.NotNull(Find(plan));
    }

    [Fact]
    public void An_import_that_is_gone_or_shorter_is_not_found()
    {
        ProtocPlan plan = ShopPlan();
        Compile(plan);

        _folder.Write("colours.proto", Colours[..^1]);
        Assert.Null(Find(plan));

        File.Delete(Path.Combine(_folder.Path, "colours.proto"));
        Assert.Null(Find(plan));
    }

    [Fact]
    public void An_import_that_comes_into_an_earlier_folder_counts()
    {
        string shop = _folder.Write("main/shop.proto", Shop);
        _folder.Write("third/colours.proto", Colours);
        string first = Path.Combine(_folder.Path, "first");
        Directory.CreateDirectory(first);
        string[] paths = [first, Path.Combine(_folder.Path, "main"), Path.Combine(_folder.Path, "third")];
        Compile(PlanOf(paths, shop));
        Assert.NotNull(Find(PlanOf(paths, shop)));

        // The same content, but protoc would read another file.
        string planted = _folder.Write("first/colours.proto", Colours);
        Assert.Null(Find(PlanOf(paths, shop)));

        File.Delete(planted);
        Assert.NotNull(Find(PlanOf(paths, shop)));
    }

    [Fact]
    public void Import_paths_in_another_order_are_another_request()
    {
        string shop = _folder.Write("main/shop.proto", Shop);
        _folder.Write("a/colours.proto", Colours);
        _folder.Write("b/colours.proto", Colours);
        string[] paths = [.. new[] { "main", "a", "b" }.Select(name => Path.Combine(_folder.Path, name))];
        Compile(PlanOf(paths, shop));

        Assert.Null(Find(PlanOf([paths[0], paths[2], paths[1]], shop)));
        Assert.NotNull(Find(PlanOf(paths, shop)));
    }

    [Fact]
    public void An_import_that_was_missing_and_comes_counts()
    {
        string shop = _folder.Write(
            "shop.proto",
            "syntax = \"proto3\";\nimport \"options/own.proto\";\noption (own.fast) = true;\n");
        SchemaPart part = Compile(PlanOf([_folder.Path], shop));
        Assert.NotNull(Find(PlanOf([_folder.Path], shop)));

        _folder.Write("options/own.proto", "syntax = \"proto3\";\n");

        Assert.Single(part.LeftOutOptions);
        Assert.Null(Find(PlanOf([_folder.Path], shop)));
    }

    [Fact]
    public void Own_rpc_messages_count_by_each_of_their_names()
    {
        string shop = _folder.Write(
            "shop.proto",
            "syntax = \"proto2\";\nimport \"rpc_messages.proto\";\n"
            + "message A { optional google.protobuf.rpc_messages.RpcRequestHeader b = 1; }\n");
        ProtocPlan shipped = PlanOf([_folder.Path], shop);
        Compile(shipped);
        Assert.NotNull(Find(shipped));

        _folder.Write(
            "csharp_rpc_messages.proto",
            "syntax = \"proto2\";\npackage google.protobuf.rpc_messages;\nmessage RpcRequestHeader {}\n");
        ProtocPlan own = PlanOf([_folder.Path], shop);
        Assert.Null(Find(own));

        AssertSame(Compile(own), Assert.IsType<SchemaPart>(Find(own)));
    }

    [Fact]
    public void Another_protoc_is_another_request()
    {
        string protoc = _folder.Write("protoc", "one");
        SchemaPart part = Compile(ShopPlan());
        byte[] set = [];
        _known.Add(protoc, ShopPlan(), _known.Now, set, part, []);
        Assert.NotNull(_known.Find(protoc, ShopPlan()));

        File.SetLastWriteTimeUtc(protoc, DateTime.UtcNow.AddMinutes(-1));

        Assert.Null(_known.Find(protoc, ShopPlan()));
    }

    [Fact]
    public void A_link_to_protoc_is_known_by_its_target()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "Links need rights there.");
        string link = Path.Combine(_folder.Path, "protoc");
        File.CreateSymbolicLink(link, _folder.Write("protoc-1", "one"));
        _known.Add(link, ShopPlan(), _known.Now, [], Compile(ShopPlan()), []);
        Assert.NotNull(_known.Find(link, ShopPlan()));

        File.Delete(link);
        File.CreateSymbolicLink(link, _folder.Write("protoc-2", "two"));

        Assert.Null(_known.Find(link, ShopPlan()));
    }

    [Fact]
    public void A_path_that_is_written_otherwise_is_another_request_because_warnings_show_it()
    {
        Compile(ShopPlan());
        SourceFile other = new("./shop.proto", Path.Combine(_folder.Path, "shop.proto"));

        Assert.Null(Find(ProtocPlan.Make([other], [], [])[0]));
    }

    [Fact]
    public void Files_with_errors_are_compiled_each_time()
    {
        SourceFile good = new("colours.proto", _folder.Write("colours.proto", Colours)) { IsMatched = true };
        SourceFile bad = new("bad.proto", _folder.Write("bad.proto", "message {")) { IsMatched = true };
        ProtocPlan plan = ProtocPlan.Make([good, bad], [], [])[0];

        Assert.Single(Compile(plan).LeftOut);

        Assert.Null(Find(plan));
        Assert.False(Directory.Exists(Cache));
    }

    [Fact]
    public void A_file_that_changes_while_protoc_runs_is_not_kept()
    {
        ProtocPlan plan = ShopPlan();
        File.SetLastWriteTimeUtc(Path.Combine(_folder.Path, "shop.proto"), DateTime.UtcNow.AddDays(-1));

        // Both files were written a moment ago, which this clock does not hide.
        ProtocCompiler.Run(Protoc, plan, TimeSpan.FromMinutes(1), KnownAt(TimeProvider.System));

        Assert.Null(Find(plan));
    }

    [Theory]
    [InlineData("colours.proto", "")]
    [InlineData("missing.proto", "missing.proto")]
    public void A_result_that_its_files_do_not_explain_is_not_kept(string deleted, string missing)
    {
        ProtocPlan plan = ShopPlan();
        SchemaPart part = Compile(plan);
        _folder.Write("missing.proto", Colours);
        File.Delete(Path.Combine(_folder.Path, deleted));
        Directory.Delete(Cache, recursive: true);
        if (missing.Length > 0)
        {
            _folder.Write(missing, Colours);
        }

        _known.Add(Protoc, plan, _known.Now, [], part, missing.Length > 0 ? [missing] : []);

        Assert.False(Directory.Exists(Cache));
    }

    [Fact]
    public void A_result_that_is_too_large_is_not_kept()
    {
        CompiledSchemas small = new(new CacheFolder(Cache) { MaxFileBytes = 100 }, LaterClock.Instance);

        ProtocCompiler.Run(Protoc, ShopPlan(), TimeSpan.FromMinutes(1), small);

        Assert.False(Directory.Exists(Cache));
    }

    [Fact]
    public void An_entry_of_another_request_under_the_same_name_is_not_used()
    {
        Compile(ShopPlan());
        string entry = Assert.Single(Directory.GetFiles(Cache));
        Compile(PlanOf([], _folder.Write("other.proto", Colours)));
        File.Copy(Directory.GetFiles(Cache).Single(file => file != entry), entry, overwrite: true);

        Assert.Null(Find(ShopPlan()));
    }

    [Theory]
    [InlineData("off")]
    [InlineData("cache")]
    [InlineData("./cache")]
    public void All_but_a_full_path_switches_it_off(string value) =>
        Assert.Null(CompiledSchemas.Locate(value));

    [Fact]
    public void The_folder_is_that_of_the_variable_or_below_the_users_cache()
    {
        Assert.Equal(Cache, CompiledSchemas.Locate(Cache + Path.DirectorySeparatorChar));
        Assert.EndsWith(
            Path.Combine("protorpc", "schemas"), CompiledSchemas.Locate(null), StringComparison.Ordinal);
    }

    private static void AssertSame(SchemaPart first, SchemaPart again)
    {
        Assert.Equal(first.Files.Select(file => file.Bytes), again.Files.Select(file => file.Bytes));
        Assert.Equal(first.Files.Select(file => file.Origin), again.Files.Select(file => file.Origin));
        Assert.Equal(first.RootFiles, again.RootFiles);
        Assert.Equal(first.Warnings, again.Warnings);
        Assert.Equal(first.LeftOut, again.LeftOut);
        Assert.Equal(first.LeftOutOptions, again.LeftOutOptions);
        Assert.Equal(first.Paths, again.Paths);
        Assert.Equal(first.Label, again.Label);
    }

    private static ProtocPlan PlanOf(string[] importPaths, params string[] files) => Assert.Single(
        ProtocPlan.Make(
            [.. files.Select(file => new SourceFile(file, file))],
            [.. importPaths.Select(path => new SourceFile(path, path))], []));

    private CompiledSchemas KnownAt(TimeProvider clock) => new(new CacheFolder(Cache), clock);

    private SchemaPart Compile(ProtocPlan plan) =>
        ProtocCompiler.Run(Protoc, plan, TimeSpan.FromMinutes(1), _known);

    private SchemaPart? Find(ProtocPlan plan) => ProtocCompiler.Find(Protoc, plan, _known);

    private ProtocPlan ShopPlan()
    {
        _folder.Write("colours.proto", Colours);
        return PlanOf([], _folder.Write("shop.proto", Shop));
    }

    private void Rewrite(string name, string text)
    {
        string path = Path.Combine(_folder.Path, name);
        DateTime written = File.GetLastWriteTimeUtc(path);
        File.WriteAllText(path, text);
        File.SetLastWriteTimeUtc(path, written);
    }

    // Files that the test wrote a moment ago are older than all runs.
    private sealed class LaterClock : TimeProvider
    {
        public static readonly LaterClock Instance = new();

        public override DateTimeOffset GetUtcNow() => base.GetUtcNow().AddHours(1);
    }
}
