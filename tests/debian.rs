//! Multi-threaded programs from Debian's packages run unharmed under the monitor.
//!
//! Each case runs alone and monitored, with the same input, and says what came of it; both must say the same. Nobody
//! compiled these programs for us, and what the monitor finds in them does not matter here.

mod support;

use libtest_mimic::{Arguments, Failed, Trial};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::run::{End, run};
use support::server::{Server, ask, connect, unused_port};
use support::{build, packages};

/// A program, and what it is made to do.
struct Case {
    name: &'static str,
    packages: &'static [&'static str],
    /// Says what came of it.
    work: fn(&Place) -> Result<String, String>,
}

const CASES: &[Case] = &[
    Case { name: "pigz", packages: &["pigz"], work: pigz },
    Case { name: "pbzip2", packages: &["pbzip2"], work: pbzip2 },
    Case { name: "xz", packages: &["xz-utils"], work: xz },
    Case { name: "zstd", packages: &["zstd"], work: zstd },
    Case { name: "sort", packages: &["coreutils"], work: sort },
    Case { name: "x264", packages: &["x264"], work: x264 },
    Case { name: "git", packages: &["git"], work: git },
    Case { name: "python", packages: &["python3"], work: python },
    Case { name: "perl", packages: &["perl"], work: perl },
    Case { name: "ruby", packages: &["ruby"], work: ruby },
    Case { name: "java", packages: &["default-jre-headless"], work: java },
    Case { name: "memcached", packages: &["memcached"], work: memcached },
    Case { name: "redis", packages: &["redis-server"], work: redis },
    Case { name: "mariadb", packages: &["mariadb-server", "mariadb-client"], work: mariadb },
    Case { name: "nginx", packages: &["nginx-light"], work: nginx },
    Case { name: "apache", packages: &["apache2-bin"], work: apache },
];

fn main() {
    let arguments = Arguments::from_args();
    let trials = CASES.iter().map(|case| Trial::test(case.name, || check(case))).collect();
    libtest_mimic::run(&arguments, trials).exit();
}

fn check(case: &Case) -> Result<(), Failed> {
    packages::ensure(case.packages)?;
    let alone = || (case.work)(&Place::new(false)?);
    // A server that was installed a moment ago has hung up on its first clients. What happens without the monitor says nothing about it.
    let alone = alone().or_else(|_| alone()).map_err(|error| format!("without the monitor: {error}"))?;
    let place = Place::new(true)?;
    let monitored = (case.work)(&place).map_err(|error| format!("under the monitor: {error}"))?;
    if alone != monitored {
        return Err(format!("alone:\n{alone}\nmonitored:\n{monitored}").into());
    }
    place.was_monitored()?;
    Ok(())
}

/// A directory to work in, and whether what runs there is monitored.
struct Place {
    directory: tempfile::TempDir,
    is_monitored: bool,
}

impl Place {
    fn new(is_monitored: bool) -> Result<Place, String> {
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        // Servers drop their privileges and must still get at their files.
        let open = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(directory.path(), open).map_err(|error| error.to_string())?;
        Ok(Place { directory, is_monitored })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> Result<String, String> {
        std::fs::write(self.path(name), bytes).map_err(|error| format!("{name}: {error}"))?;
        Ok(self.text(name))
    }

    /// A command that is monitored if this place is.
    fn command(&self, program: &str) -> Command {
        let mut command = self.helper(program);
        if self.is_monitored {
            let options = format!("exitcode=0:log_path={}", self.text("log"));
            command.env("LD_PRELOAD", build::library()).env("AVMON_OPTIONS", options);
        }
        command
    }

    /// A command that is never monitored: it only helps to look at what the others did.
    fn helper(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.directory.path()).env_remove("LD_PRELOAD").env_remove("AVMON_OPTIONS");
        command.env("HOME", self.directory.path()).env("LC_ALL", "C");
        command
    }

    /// Runs a monitored command that must succeed; its stdout.
    fn run(&self, program: &str, arguments: &[&str]) -> Result<String, String> {
        succeed(self.command(program).args(arguments))
    }

    /// Every monitored process that was asked for a log begins it: without one, nothing was tested.
    fn was_monitored(&self) -> Result<(), String> {
        let entries = std::fs::read_dir(self.directory.path()).map_err(|error| error.to_string())?;
        let is_log = |path: &Path| path.file_stem().is_some_and(|stem| stem == "log");
        if entries.filter_map(|entry| Some(entry.ok()?.path())).any(|path| is_log(&path)) {
            Ok(())
        } else {
            Err("the monitor left no log: was it there at all?".to_owned())
        }
    }

    /// A few megabytes that compress neither too well nor too badly.
    fn input(&self) -> Result<String, String> {
        let mut text = String::new();
        let mut state = 1_u32;
        while text.len() < 4 << 20 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let _ = writeln!(text, "line {} of {}", state >> 12, state >> 28);
        }
        self.write("input", text)
    }
}

fn succeed(command: &mut Command) -> Result<String, String> {
    let outcome = run(command)?;
    if outcome.end == End::Exit(0) { Ok(outcome.stdout) } else { Err(format!("{command:?}: {outcome}")) }
}

/// Length and a hash of a file.
fn digest(path: impl AsRef<Path>) -> Result<String, String> {
    let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.as_ref().display()))?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    Ok(format!("{} bytes, hash {:x}", bytes.len(), hasher.finish()))
}

/// Compresses and decompresses with the same program; the input must come back.
fn round_trip(place: &Place, program: &str, pack: &[&str], unpack: &[&str], packed: &str) -> Result<String, String> {
    let input = place.input()?;
    let before = digest(&input)?;
    place.run(program, &[pack, &[&input]].concat())?;
    let compressed = digest(place.path(packed))?;
    std::fs::remove_file(&input).map_err(|error| error.to_string())?;
    place.run(program, &[unpack, &[&place.text(packed)]].concat())?;
    if digest(&input)? == before { Ok(compressed) } else { Err("the round trip changed the data".to_owned()) }
}

fn pigz(place: &Place) -> Result<String, String> {
    round_trip(place, "pigz", &["-k", "-n", "-p", "4", "-b", "128"], &["-d", "-p", "4"], "input.gz")
}

fn pbzip2(place: &Place) -> Result<String, String> {
    round_trip(place, "pbzip2", &["-k", "-p4", "-b2"], &["-d", "-p4"], "input.bz2")
}

fn xz(place: &Place) -> Result<String, String> {
    round_trip(place, "xz", &["-k", "-1", "-T4", "--block-size=512KiB"], &["-d", "-T4"], "input.xz")
}

fn zstd(place: &Place) -> Result<String, String> {
    round_trip(place, "zstd", &["-q", "-k", "-T4", "-B512K"], &["-q", "-d"], "input.zst")
}

fn sort(place: &Place) -> Result<String, String> {
    let input = place.input()?;
    place.run("sort", &["--parallel=4", "-o", "sorted", &input])?;
    place.run("sort", &["-c", "sorted"])?;
    digest(place.path("sorted"))
}

fn x264(place: &Place) -> Result<String, String> {
    // Thirty pictures of a moving gradient.
    let (width, height) = (176, 144);
    let mut video = Vec::new();
    for picture in 0..30 {
        for y in 0..height {
            video.extend((0..width).map(|x| (x + y + picture * 3) as u8));
        }
        video.resize(video.len() + width * height / 2, 128);
    }
    let video = place.write("video.yuv", video)?;
    place.run("x264", &["--quiet", "--input-res", "176x144", "--threads", "4", "-o", "video.264", &video])?;
    digest(place.path("video.264"))
}

fn git(place: &Place) -> Result<String, String> {
    place.run("git", &["init", "-q", "-b", "main", "repository"])?;
    for number in 0..150 {
        let text = (0..60).map(|line| format!("{} {}", line * number, line % 7)).collect::<Vec<_>>().join("\n");
        place.write(&format!("repository/file{number}"), text)?;
    }
    let git = |arguments: &[&str]| {
        let mut command = place.command("git");
        command.args(["-C", "repository", "-c", "pack.threads=4", "-c", "user.name=a", "-c", "user.email=a@b"]);
        command.env("GIT_AUTHOR_DATE", "2020-01-01T00:00:00Z").env("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z");
        succeed(command.args(arguments))
    };
    git(&["add", "."])?;
    git(&["commit", "-q", "-m", "files"])?;
    git(&["repack", "-a", "-d", "-f", "-q", "--window=50"])?;
    git(&["fsck", "--full", "--no-progress"])?;
    Ok(git(&["rev-parse", "HEAD"])? + &git(&["grep", "-c", "--threads=4", "-e", "^59 "])?)
}

fn python(place: &Place) -> Result<String, String> {
    let script = place.write(
        "script.py",
        "import concurrent.futures, hashlib, queue, threading\n\
         work, done = queue.Queue(), []\n\
         lock = threading.RLock()\n\
         def worker():\n\
         \x20   while (item := work.get()) is not None:\n\
         \x20       digest = hashlib.sha256(str(item).encode() * 5000).hexdigest()\n\
         \x20       with lock: done.append((item, digest))\n\
         threads = [threading.Thread(target=worker) for _ in range(4)]\n\
         for t in threads: t.start()\n\
         for item in range(200): work.put(item)\n\
         for t in threads: work.put(None)\n\
         for t in threads: t.join()\n\
         with concurrent.futures.ThreadPoolExecutor(4) as pool:\n\
         \x20   print(sum(pool.map(lambda x: x * x, range(500))))\n\
         for item, digest in sorted(done): print(item, digest)\n",
    )?;
    place.run("/usr/bin/python3", &[&script])
}

fn perl(place: &Place) -> Result<String, String> {
    let script = place.write(
        "script.pl",
        "use threads; use threads::shared; use Thread::Queue;\n\
         my $sum :shared = 0;\n\
         my $queue = Thread::Queue->new(1 .. 200);\n\
         $queue->end();\n\
         my @threads = map { threads->create(sub {\n\
         \x20   while (defined(my $item = $queue->dequeue())) { lock($sum); $sum += $item; }\n\
         \x20   return threads->tid();\n\
         }) } 1 .. 4;\n\
         print join(' ', map { $_->join() } @threads), \"\\n$sum\\n\";\n",
    )?;
    place.run("/usr/bin/perl", &[&script])
}

fn ruby(place: &Place) -> Result<String, String> {
    let script = place.write(
        "script.rb",
        "queue, sum, lock = Queue.new, 0, Mutex.new\n\
         threads = 4.times.map { Thread.new { while (item = queue.pop); lock.synchronize { sum += item }; end } }\n\
         (1..2000).each { |item| queue << item }\n\
         4.times { queue << nil }\n\
         threads.each(&:join)\n\
         puts sum, `echo from a child`, $?.exitstatus\n",
    )?;
    place.run("/usr/bin/ruby", &[&script])
}

fn java(place: &Place) -> Result<String, String> {
    place.run("/usr/bin/java", &["-Xmx64m", "-XX:+UseParallelGC", "--version"])
}

fn is_listening(port: u16) -> bool {
    connect(port).is_ok()
}

fn memcached(place: &Place) -> Result<String, String> {
    let port = unused_port()?;
    let mut command = place.command("/usr/bin/memcached");
    command.args(["-l", "127.0.0.1", "-p", &port.to_string(), "-U", "0", "-t", "4", "-u", "root"]);
    let mut server = Server::start(&mut command, place.path("output"), || is_listening(port))?;
    let answers = server.talk(4, |number| {
        let mut stream = connect(port)?;
        let mut answers = ask(&mut stream, &format!("set count{number} 0 0 1\r\n0\r\n"), "\r\n")?;
        for turn in 0..200 {
            let value = "x".repeat(turn * 10 + number);
            ask(&mut stream, &format!("set key{number} 0 0 {}\r\n{value}\r\n", value.len()), "STORED\r\n")?;
            answers += &ask(&mut stream, &format!("get key{number}\r\n"), "END\r\n")?;
            answers += &ask(&mut stream, &format!("incr count{number} {turn}\r\n"), "\r\n")?;
        }
        Ok(answers)
    })?;
    Ok(format!("{}{}", answers.concat(), server.stop()?))
}

fn redis(place: &Place) -> Result<String, String> {
    let port = unused_port()?;
    let mut command = place.command("/usr/bin/redis-server");
    let port_text = port.to_string();
    command.args(["--bind", "127.0.0.1", "--port", &port_text, "--io-threads", "3", "--io-threads-do-reads", "yes"]);
    command.args(["--save", "", "--appendonly", "no", "--dir", &place.text("")]);
    let mut server = Server::start(&mut command, place.path("output"), || is_listening(port))?;
    let answers = server.talk(4, |number| {
        let mut stream = connect(port)?;
        let mut answers = String::new();
        for turn in 0..200 {
            answers += &ask(&mut stream, &format!("SET key{number}:{turn} {}\r\n", turn * turn), "\r\n")?;
            answers += &ask(&mut stream, &format!("INCRBY sum{number} {turn}\r\n"), "\r\n")?;
        }
        Ok(answers)
    })?;
    let mut stream = connect(port)?;
    // A forked child writes the file.
    ask(&mut stream, "BGSAVE\r\n", "started\r\n")?;
    let is_saving = |stream: &mut _| Ok::<_, String>(!info(stream)?.contains("rdb_bgsave_in_progress:0"));
    while is_saving(&mut stream)? {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let saved = info(&mut stream)?.contains("rdb_last_bgsave_status:ok") && place.path("dump.rdb").is_file();
    let size = ask(&mut stream, "DBSIZE\r\n", "\r\n")?;
    Ok(format!("{}{size}{saved} {}", answers.concat(), server.stop()?))
}

fn info(stream: &mut std::net::TcpStream) -> Result<String, String> {
    // The section's last line depends on the version; an unknown command after it has a known end.
    ask(stream, "INFO persistence\r\nECHO end-of-info\r\n", "end-of-info\r\n")
}

fn mariadb(place: &Place) -> Result<String, String> {
    let data = format!("--datadir={}", place.text("data"));
    let mut install = place.helper("/usr/bin/mariadb-install-db");
    succeed(install.args(["--no-defaults", "--user=root", "--skip-test-db", &data]))?;
    let socket = place.text("socket");
    let sql = |text: &str| {
        let mut client = place.helper("/usr/bin/mariadb");
        succeed(client.args(["--no-defaults", "-u", "root", "-S", &socket, "-N", "-e", text]))
    };
    let mut command = place.command("/usr/sbin/mariadbd");
    command.args(["--no-defaults", "--user=root", "--skip-networking", "--innodb-buffer-pool-size=16M", &data]);
    command.args([format!("--socket={socket}"), format!("--pid-file={}", place.text("pid"))]);
    let mut server = Server::start(&mut command, place.path("output"), || sql("SELECT 1").is_ok())?;
    sql("CREATE DATABASE test; CREATE TABLE test.sums (client INT PRIMARY KEY, total BIGINT) ENGINE=InnoDB")?;
    let answers = server.talk(4, |number| {
        let mut script = format!("INSERT INTO test.sums VALUES ({number}, 0);");
        for turn in 0..50 {
            let _ = write!(script, "UPDATE test.sums SET total = total + {turn} WHERE client = {number};");
        }
        sql(&script)?;
        sql(&format!("SELECT client, total FROM test.sums WHERE client = {number}"))
    })?;
    let total = sql("SELECT SUM(total) FROM test.sums")?;
    Ok(format!("{}{total}{}", answers.concat(), server.stop()?))
}

/// Asks a web server for pages of different sizes, from several clients at once.
fn pages(place: &Place, command: &mut Command, port: u16) -> Result<String, String> {
    let mut server = Server::start(command, place.path("output"), || is_listening(port))?;
    let answers = server.talk(4, |number| {
        let mut bodies = String::new();
        for _ in 0..25 {
            let request = format!("GET /page{number} HTTP/1.0\r\nHost: test\r\n\r\n");
            let answer = ask(&mut connect(port)?, &request, "")?;
            let (head, body) = answer.split_once("\r\n\r\n").ok_or("an answer without a head")?;
            let _ = writeln!(bodies, "{} {}", head.lines().next().unwrap_or(""), body.len());
        }
        Ok(bodies)
    })?;
    Ok(format!("{}{}", answers.concat(), server.stop()?))
}

fn write_pages(place: &Place) -> Result<String, String> {
    std::fs::create_dir(place.path("pages")).map_err(|error| error.to_string())?;
    for number in 0..4 {
        place.write(&format!("pages/page{number}"), "0123456789".repeat(1 << (number * 4)))?;
    }
    Ok(place.text("pages"))
}

fn nginx(place: &Place) -> Result<String, String> {
    let (port, pages_at, here) = (unused_port()?, write_pages(place)?, place.text(""));
    let configuration = format!(
        "daemon off; worker_processes 2; pid {here}/pid; error_log {here}/errors;\n\
         thread_pool default threads=4;\n\
         events {{ worker_connections 64; }}\n\
         http {{ access_log off; aio threads; client_body_temp_path {here}/b; proxy_temp_path {here}/p;\n\
         fastcgi_temp_path {here}/f; uwsgi_temp_path {here}/u; scgi_temp_path {here}/s;\n\
         server {{ listen 127.0.0.1:{port}; root {pages_at}; }} }}\n"
    );
    let configuration = place.write("nginx.conf", configuration)?;
    let mut command = place.command("/usr/sbin/nginx");
    command.args(["-e", &place.text("errors"), "-p", &here, "-c", &configuration]);
    pages(place, &mut command, port)
}

fn apache(place: &Place) -> Result<String, String> {
    let (port, pages_at, here) = (unused_port()?, write_pages(place)?, place.text(""));
    // Started by root it insists on another user for its workers; that one may not even write a log.
    let configuration = format!(
        "ServerRoot {here}\nServerName localhost\nPidFile {here}/pid\nErrorLog {here}/errors\nListen 127.0.0.1:{port}\n\
         LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\n\
         LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\n\
         User www-data\nGroup www-data\nDefaultRuntimeDir {here}\nDocumentRoot {pages_at}\n\
         StartServers 2\nThreadsPerChild 8\nThreadLimit 8\nServerLimit 2\nMaxRequestWorkers 16\n"
    );
    let configuration = place.write("apache.conf", configuration)?;
    let mut command = place.command("/usr/sbin/apache2");
    command.args(["-f", &configuration, "-DFOREGROUND"]);
    pages(place, &mut command, port)
}
